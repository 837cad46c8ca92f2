"""Words similar to a rare one, and suggested corrections of a query."""

import pytest

from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.model import Batch
from nwx.searching.suggestions import corrected_query, suggestions
from tests.conformance.archive import batch, page

ABOVE_ENGINES = ("test_words_that_are_spelled_like_another",)

_COMMON = 12
BATCHES: list[Batch] = [
    batch(
        [
            page(
                f"http://www.museum{n % 2}.example/{n}",
                "2010",
                f"the museum of the quarry, part {n}",
                title=f"Quarry museum {n}",
            )
            for n in range(_COMMON)
        ]
        + [page("http://other.example/", "2011", "a musaeum and a straße", title="Rare *words*")]
        + [page("http://other.example/x", "2011", "gone", title="Rare error", status=404)]
    )
]


def test_words_that_are_spelled_like_another(archive: Engine) -> None:
    assert archive.similar_words("musuem", 3)[0] == "museum"
    assert archive.similar_words("MUSEUN", 1) == ["museum"]
    assert archive.similar_words("qary", 3) == []
    for word in ("", "of", "*", "two words", "x" * 9_000, "博物館"):
        assert archive.similar_words(word, 3) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("musuem", "museum"),
        ("quary musuem", "quarry museum"),
        ("part AND musuem -nothing", "part AND museum -nothing"),
        ("museum", ""),
        ("musaeum", "museum"),
        ('"musuem"', ""),
        ("title:musuem", ""),
        ("mus*em", ""),
        ("quarry OR (", ""),
        ("quarry or nowhere", "quarry OR nowhere"),
        ("or quarry", ""),
        ('"quarry or nowhere"', ""),
        ("title:", "title:*"),
        ("nofield:", ""),
        ("", ""),
    ],
)
def test_what_a_query_may_have_meant(archive: Engine, query: str, expected: str) -> None:
    assert corrected_query(archive, query) == expected


def test_what_a_query_may_become(archive: Engine) -> None:
    found = suggestions(archive, "quarry mus")
    assert len(found.titles) == 6
    assert {one.title for one in found.titles} <= {f"Quarry museum {n}" for n in range(_COMMON)}
    assert found.hosts == ()
    (first, second) = suggestions(archive, "muse").hosts
    assert (first.host, first.documents) == ("www.museum0.example", _COMMON // 2)
    assert second.host == "www.museum1.example"
    assert [one.host for one in suggestions(archive, "other.ex").hosts] == ["other.example"]
    assert suggestions(archive, "rare wor").titles[0].url == "http://other.example/"
    assert [one.title for one in suggestions(archive, "rare").titles] == ["Rare *words*"]
    for typed in ("", "q", "*", "\\", "?*", "a" * 300, "zzzz"):
        assert suggestions(archive, typed).titles == ()


def test_nothing_hidden_is_suggested(archive: Engine) -> None:
    rules = [
        AccessRule(str(n), Action.EXCLUDE, Scope(prefix=f"example,museum{n})/")) for n in (0, 1)
    ]
    restricted = RestrictedEngine(archive, AccessRules(rules).for_viewer(EVERYBODY))
    assert corrected_query(restricted, "musuem") == ""
    assert suggestions(restricted, "quarry mus").titles == ()
    assert suggestions(restricted, "muse").hosts == ()
    assert [one.host for one in suggestions(restricted, "oth").hosts] == ["other.example"]
