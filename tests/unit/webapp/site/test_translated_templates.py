"""Templates with messages in the page's language."""

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from flask import Flask, render_template
from flask_babel import Babel

from webapp.site.words import TranslatedEnvironment

TEMPLATES = {
    "top.html": "{{ _('Search') }}|{% block main %}{% endblock %}",
    "page.html": "{% extends 'top.html' %}{% import 'parts.html' as parts %}{% block main %}"
    "{{ _('<b>%(count)s</b> of %(name)s', count=3, name=name) }}|"
    "{% trans who=name %}by {{ who }}{% endtrans %}|{{ parts.button(_('Search')) }}|"
    "{{ ngettext('%(num)s page', '%(num)s pages', 2) }}|{{ _('100%% sure') }}|"
    "{% include 'more.html' %}{% endblock %}",
    "parts.html": "{% macro button(label) %}[{{ label }} {{ _('Search') }}]{% endmacro %}",
    "more.html": "{{ _('Search')|upper }}",
}
GERMAN = {
    "Search": "Suche <i>",
    "<b>%(count)s</b> of %(name)s": "%(name)s: <b>%(count)s</b>",
    "by %(who)s": "von %(who)s",
    ("%(num)s page", "%(num)s pages"): ("%(num)s Seite", "%(num)s Seiten"),
    "100%% sure": "100%% sicher",
}


def application(folder: Path, language: list[str]) -> Flask:
    catalog = Catalog("de")
    for message, text in GERMAN.items():
        catalog.add(message, text)
    (folder / "translations/de/LC_MESSAGES").mkdir(parents=True)
    with (folder / "translations/de/LC_MESSAGES/messages.mo").open("wb") as file:
        write_mo(file, catalog)
    (folder / "templates").mkdir()
    for name, text in TEMPLATES.items():
        (folder / "templates" / name).write_text(text)
    app = Flask(__name__, root_path=str(folder))
    app.jinja_environment = TranslatedEnvironment  # type: ignore[assignment]
    Babel(app, locale_selector=lambda: language[0])
    return app


def test_each_language_has_its_own_messages(tmp_path: Path) -> None:
    language = ["en"]
    app = application(tmp_path, language)
    for language[0], expected in (
        ("en", "Search|<b>3</b> of a&amp;b|by a&amp;b|[Search Search]|2 pages|100% sure|SEARCH"),
        (
            "de",
            "Suche <i>|a&amp;b: <b>3</b>|von a&amp;b|[Suche <i> Suche <i>]|2 Seiten|"
            "100% sicher|SUCHE <I>",
        ),
        ("en", "Search|<b>3</b> of a&amp;b|by a&amp;b|[Search Search]|2 pages|100% sure|SEARCH"),
    ):
        with app.test_request_context():
            assert render_template("page.html", name="a&b") == expected


def test_messages_are_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(tmp_path, ["de"])
    with app.test_request_context():
        render_template("more.html")
        monkeypatch.setitem(app.jinja_env.globals, "_", None)
        monkeypatch.setitem(app.jinja_env.globals, "gettext", None)
        assert render_template("more.html") == "SUCHE <I>"


def test_templates_can_be_had_without_a_page(tmp_path: Path) -> None:
    app = application(tmp_path, ["de"])
    assert app.jinja_env.get_template("top.html").name == "top.html"
