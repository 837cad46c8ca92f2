"""The language of the bar above captures."""

from typing import Any

import pytest
from jinja2 import Environment

from webapp.replay.player_language import TEMPLATE_FUNCTIONS, asked_language
from webapp.site.preferences import Preferences, to_cookie

GERMAN = f"nwx_settings={to_cookie(Preferences(language='de'))}"


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"HTTP_ACCEPT_LANGUAGE": "fr-CA,en;q=0.5"}, "fr"),
        ({"HTTP_ACCEPT_LANGUAGE": "fr", "HTTP_COOKIE": GERMAN}, "de"),
        ({"HTTP_ACCEPT_LANGUAGE": "es", "HTTP_COOKIE": "a[=\x01;;"}, "es"),
        ({"HTTP_ACCEPT_LANGUAGE": "tlh"}, "en"),
    ],
)
def test_the_language_is_that_of_the_setting_or_the_browser(
    environ: dict[str, Any], language: str
) -> None:
    assert asked_language(environ) == language


def test_templates_are_translated_and_values_escaped() -> None:
    jinja = Environment(autoescape=True)
    jinja.globals.update(TEMPLATE_FUNCTIONS)
    message = "_('There is no capture of <strong>%(url)s</strong>.', url=url)"
    text = f"{{{{ page_language() }}}}: {{{{ {message} }}}}"
    shown = jinja.from_string(text).render(env={"HTTP_ACCEPT_LANGUAGE": "de"}, url="<b>")
    assert shown == "de: Es gibt keine Aufnahme von <strong>&lt;b&gt;</strong>."
    assert jinja.from_string(text).render(url="x").startswith("en: There is no capture of")
