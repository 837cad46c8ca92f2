"""Translations of the pages: every message is translated, and each page is in one language."""

import re
from gettext import GNUTranslations

import pytest
from babel.messages.catalog import Message
from flask.testing import FlaskClient

from nwx.facets.criteria import Criterion
from nwx.facets.question import FEATURES
from nwx.model import Total
from nwx.steering.analysis.link_classifier import LinkRole
from nwx.steering.specifications.specification import EntityKind
from nwx.values.urls import KINDS
from tests.web.html import Page
from tests.web.messages import CATALOGUES, TEMPLATES, catalogue, plain_texts, source_messages
from webapp.explore.answers import CRITERION_LABELS, described_feature
from webapp.search.documents import shown_fields
from webapp.site import words
from webapp.site.preferences import PAGE_LANGUAGES

TRANSLATED = [language for language in PAGE_LANGUAGES if language != "en"]
_PLACEHOLDER = re.compile(r"%\(\w+\)s")
_TAG = re.compile(r"</?[a-z]+")
_NOT_USED = {
    "de": r"Aufzeichnung|Embargo|Ankertext|Wortlaut|Nutzdaten|Bewertung|umgekehrt\b|^Setzen$"
    r"|\bCaptures?\b",
    "fr": r"\b[gG]raines?\b|\bliante?s?\b|\bcrawl\b|condensat|relecture|’|d'abord.;| [;:?!»]|« ",
    "es": r"representaci[oó]n|(?<!build )\btriples\b(?! build)|\bresumen\b"
    r"|archivos? (de imagen|o error)",
}
"""Replaced by terms of docs/contributing.md; French punctuation needs non-breaking spaces."""


@pytest.fixture(scope="module")
def extracted() -> set[str | tuple[str, str]]:
    return source_messages()


def _texts(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string)


@pytest.mark.xdist_group("translations")
@pytest.mark.parametrize("language", TRANSLATED)
def test_every_message_is_translated(language: str, extracted: set[str | tuple[str, str]]) -> None:
    """`make messages` adds new messages to the catalogues."""
    known = {
        message.id if isinstance(message.id, str) else tuple(message.id): message
        for message in catalogue(language)
        if message.id
    }
    assert extracted - set(known) == set(), "not in the catalogue"
    assert set(known) - extracted == set(), "in the catalogue, and used nowhere"
    assert [one.id for one in known.values() if one.fuzzy or not all(_texts(one))] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_have_the_values_and_tags_of_their_messages(language: str) -> None:
    for message in catalogue(language):
        plural = message.id if isinstance(message.id, str) else message.id[-1]
        if not plural:
            continue
        for number, text in enumerate(_texts(message)):
            wanted = plural if number or isinstance(message.id, str) else message.id[0]
            assert set(_PLACEHOLDER.findall(text)) == set(_PLACEHOLDER.findall(wanted)), text
            assert sorted(_TAG.findall(text)) == sorted(_TAG.findall(wanted)), text
            assert text[:1].isspace() == wanted[:1].isspace(), text
            assert '"' not in re.sub("<[^>]*>", "", text), "an attribute would end there"
            assert "%" not in _PLACEHOLDER.sub("", text).replace("%%", ""), text
        assert [str(error) for error in message.check()] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_use_the_agreed_terms(language: str) -> None:
    other = re.compile(_NOT_USED[language])
    assert [text for one in catalogue(language) for text in _texts(one) if other.search(text)] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_compiled_catalogue_is_that_of_the_texts(language: str) -> None:
    with (CATALOGUES / language / "LC_MESSAGES" / "messages.mo").open("rb") as file:
        compiled = GNUTranslations(file)
    for message in catalogue(language):
        if isinstance(message.id, str):
            if message.id:
                assert compiled.gettext(message.id) == message.string
        else:
            assert compiled.ngettext(*message.id, 1) == message.string[0]
            assert compiled.ngettext(*message.id, 2) == message.string[1]


@pytest.mark.parametrize("path", sorted(TEMPLATES), ids=lambda path: path.name)
def test_templates_have_no_text_that_is_no_message(path: object) -> None:
    assert list(plain_texts(path.read_text(encoding="utf-8"))) == []  # type: ignore[attr-defined]


def test_a_text_that_is_no_message_is_found() -> None:
    assert list(plain_texts("<p>Some words</p>{{ _('Others') }}")) == ["Some words"]
    assert list(plain_texts('<img alt="A picture">')) == ["A picture"]
    assert list(plain_texts("{{ 'page' if n == 1 else 'pages' }}")) != []
    assert list(plain_texts("<p>{% trans %}Words{% endtrans %} <code>nwx x</code></p>")) == []


def test_names_of_criteria_and_features_are_those_of_the_library() -> None:
    assert {one: str(label) for one, label in CRITERION_LABELS.items()} == {
        one: one.definition.label for one in Criterion
    }
    assert {one: described_feature(one) for one in FEATURES} == FEATURES


@pytest.mark.parametrize(
    ("asked", "language", "words_of_it"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de", "Das Archiv durchsuchen"),
        ("fr-CA", "fr", "Chercher dans l'archive"),
        ("es-MX,en;q=0.3", "es", "Buscar en el archivo"),
        ("ja", "en", "Search the archive"),
        ("", "en", "Search the archive"),
    ],
)
def test_pages_are_in_the_language_of_the_browser(
    client: FlaskClient, asked: str, language: str, words_of_it: str
) -> None:
    answer = client.get("/", headers={"Accept-Language": asked})
    (page,) = Page(answer.text).all("html")
    assert page.attributes["lang"] == language
    assert page.attributes["dir"] == "ltr"
    assert words_of_it in answer.text
    assert "Accept-Language" in answer.vary


def test_the_setting_goes_before_the_browser(client: FlaskClient) -> None:
    client.post("/settings", data={"language": "fr"})
    answer = client.get("/settings", headers={"Accept-Language": "de"})
    assert "<h1>Réglages</h1>" in answer.text
    client.post("/settings", data={"language": ""})
    answer = client.get("/settings", headers={"Accept-Language": "de"})
    assert "<h1>Einstellungen</h1>" in answer.text


def test_kinds_and_missing_pages_are_in_the_language_of_the_page(client: FlaskClient) -> None:
    answer = client.get("/nowhere", headers={"Accept-Language": "de"})
    assert (answer.status_code, "es gibt keine Seite /nowhere" in answer.text) == (404, True)
    with client.application.test_request_context(headers={"Accept-Language": "es"}):
        for kind in (*KINDS, *EntityKind, *LinkRole, *Criterion.STATUS.definition.values):
            assert kind == "script" or words.named(kind) != kind
    assert words.named("unheard") == "unheard"


def test_what_the_server_refuses_is_said_in_the_language_of_the_page(client: FlaskClient) -> None:
    answer = client.delete("/settings", headers={"Accept-Language": "de"})
    assert (answer.status_code, "nimmt solche Anfragen nicht an" in answer.text) == (405, True)
    crawl = client.get("/crawls/watched", headers={"Accept-Language": "fr"})
    assert (crawl.status_code, "Elle regarde" in crawl.text) == (200, True)
    assert "à partir de 0,1" in client.get("/crawls/stones", headers={"Accept-Language": "fr"}).text
    form = {"text": 'name = "x"\nseeds = ["ftp:"]', "action": "check"}
    checked = client.post("/crawls/new", data=form, headers={"Accept-Language": "de"})
    assert "ist keine URL; schreiben Sie" in checked.text


def test_programs_are_answered_in_english(client: FlaskClient) -> None:
    german = {"Accept-Language": "de"}
    assert client.get("/nowhere", headers=german).text.count("Nicht in diesem Archiv")
    for path in ("/api/nowhere", "/api/search?per_page=x", "/api/facets?by=x", "/cdx?url="):
        plain = client.get(path)
        translated = client.get(path, headers=german)
        assert (translated.status_code, translated.text) == (plain.status_code, plain.text)


@pytest.mark.parametrize(
    ("language", "number", "length", "date"),
    [
        ("en", "1,234,567", "1.55 kB", "26 Jan 2014, 20:06:24 UTC"),
        ("de", "1.234.567", "1,55 kB", "26. Jan. 2014, 20:06:24 UTC"),
        ("fr", "1\u202f234\u202f567", "1,55\u202fko", "26 janv. 2014, 20:06:24 UTC"),
        ("es", "1.234.567", "1,55 kB", "26 ene 2014, 20:06:24 UTC"),
    ],
)
def test_numbers_and_dates_follow_the_language(
    client: FlaskClient, language: str, number: str, length: str, date: str
) -> None:
    with client.application.test_request_context(headers={"Accept-Language": language}):
        assert words.grouped(1_234_567) == number
        assert words.size(1_550) == length
        assert words.moment("20140126200624") == date
        ((_, modified),) = shown_fields({"last_modified": "2014-01-26T20:06:24Z"})
        assert modified == date.rpartition(",")[0]
        assert words.total_words(Total(7, "gte")).endswith(" 7")
        assert words.language("de") != "de"


@pytest.mark.parametrize(
    ("language", "path", "words_of_it"),
    [
        ("de", "/search?q=(a", "diese Klammer ist nicht geschlossen"),
        ("fr", "/search?q=(a", "cette parenthèse n&#39;est pas fermée"),
        ("es", "/search?q=(a", "este paréntesis no está cerrado"),
        ("de", "/search?q=titel:x", "ist kein Feld"),
        ("fr", "/search?from=2010-13", "a une date impossible"),
        ("es", "/search?year=20x&q=a", "escriba cuatro cifras"),
        ("es", "/trends?q=(a", "este paréntesis no está cerrado"),
        ("fr", "/words?q=(a", "cette parenthèse n&#39;est pas fermée"),
    ],
)
def test_errors_are_in_the_language_of_the_page(
    client: FlaskClient, language: str, path: str, words_of_it: str
) -> None:
    answer = client.get(path, headers={"Accept-Language": language})
    assert answer.status_code == 400
    assert words_of_it in answer.text
