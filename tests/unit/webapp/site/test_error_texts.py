"""Error messages in the reader's language."""

import pytest
from flask import Flask

from nwx.errors import ErrorText, NwxError
from webapp.site.preferences import prepare_languages
from webapp.site.words import error_text


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "2 shards: the query has 4,001 characters; at most 4,000 are allowed"),
        ("de", "2 shards: die Suchanfrage hat 4.001 Zeichen; höchstens 4.000 sind erlaubt"),
    ],
)
def test_errors_are_translated_with_those_within_them(language: str, said: str) -> None:
    app = Flask("webapp.application")
    prepare_languages(app)
    inner = NwxError(
        ErrorText(
            "the query has %(count)s characters; at most %(most)s are allowed",
            count=4_001,
            most=4_000,
        )
    )
    text = ErrorText("%(name)s: %(reason)s", name="2 shards", reason=inner)
    with app.test_request_context(headers={"Accept-Language": language}):
        assert error_text(text) == said
        assert error_text(NwxError("100 % of it")) == "100 % of it"
        assert error_text(NwxError("")) == ""
