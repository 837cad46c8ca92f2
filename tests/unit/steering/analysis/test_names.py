"""Names found by rules."""

import pytest

from nwx.steering.analysis.language_models import DictionaryModel
from nwx.steering.analysis.names import MOST_DATES, MOST_NAMES, dates_in, names_in


def found(text: str, language: str = "en") -> list[tuple[str, str]]:
    reading = DictionaryModel().read(text, language)
    names = names_in(reading, language)
    assert all(text[name.start :].startswith(name.text) for name in names)
    return [(name.text, name.kind) for name in names]


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("en", "Then Mr. J. R. Smith spoke.", [("J. R. Smith", "person")]),
        ("en", "It was Chancellor Angela Merkel who came.", [("Angela Merkel", "person")]),
        ("en", "The president Obama left.", [("Obama", "person")]),
        ("en", "said Dr. Ludwig van Beethoven", [("Ludwig van Beethoven", "person")]),
        ("en", "at the University of Oxford there", [("University of Oxford", "organisation")]),
        ("en", "shares of Acme Trading Ltd fell", [("Acme Trading Ltd", "organisation")]),
        ("en", "They went to New York by train", [("New York", "other")]),
        ("en", "When Angela Merkel came", [("Angela Merkel", "other")]),
        ("en", "Big rivers rose. Yesterday it rained.", []),
        ("en", "Terms of Use apply to this. Terms Of Use apply", []),
        ("en", "here you Sign Up and go", []),
        ("en", "then The New York Times Will report", [("New York Times", "organisation")]),
        ("en", "that the president of France and Theresa May met", [("Theresa May", "other")]),
        ("en", "said Senator Barack Obama The other", [("Barack Obama", "person")]),
        ("en", "shares of Equinor Oil AS fell", [("Equinor Oil AS", "organisation")]),
        ("en", "When The House Of Commons The met", [("House Of Commons", "organisation")]),
        ("en", "spoke with Prof. Of and Mr. In The", []),
        ("de", "Die Kanzlerin Angela Merkel sprach", [("Angela Merkel", "person")]),
        ("de", "an der Universität Leipzig dort", [("Universität Leipzig", "organisation")]),
        ("de", "das Hohe Haus der Stadt Ende August", []),
        ("fr", "Le président François Hollande parle", [("François Hollande", "person")]),
        ("en", "Home\nAbout Us\nPress Office\n", []),
        ("en", "मंत्री 東京 word", []),
    ],
)
def test_names_are_found_by_rules(language: str, text: str, names: list[tuple[str, str]]) -> None:
    assert found(text, language) == names


def test_names_are_bounded() -> None:
    assert len(found("and Mr. Smith went " * (MOST_NAMES + 10))) == MOST_NAMES
    assert len(found("Mr. " * 100_000)) <= MOST_NAMES
    assert found("A" * 1_000_000) == []
    assert len(found("Xy " * 100_000)) <= MOST_NAMES


def found_dates(text: str) -> list[str]:
    return [name.text for name in dates_in(DictionaryModel().read(text, "en"))]


@pytest.mark.parametrize(
    "text",
    [
        "2002-08-12",
        "12.8.2002",
        "12. 08. 2002",
        "12 August 2002",
        "12. August 2002",
        "12th of August, 2002",
        "August 12, 2002",
        "Aug. 12th, 2002",
        "12 août 2002",
        "12 de agosto de 2002",
    ],
)
def test_dates_are_written_alike(text: str) -> None:
    assert found_dates(f"On {text} it rained") == ["2002-08-12"]


@pytest.mark.parametrize("text", ["8/12/2002", "August 2002", "99.99.2002", "2002-13-40", "2002"])
def test_what_is_no_date_is_left_out(text: str) -> None:
    assert found_dates(f"On {text} it rained") == []


def test_a_date_may_be_cut_at_the_end() -> None:
    assert [found_dates(text) for text in ("2002-08-", "2002-08-12", "2002-")] == [
        [],
        ["2002-08-12"],
        [],
    ]


def test_dates_are_bounded() -> None:
    assert len(found_dates("2002-08-12 " * (MOST_DATES + 5))) == MOST_DATES
