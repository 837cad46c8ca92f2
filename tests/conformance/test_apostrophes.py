"""Words match with and without an elided article or a possessive."""

import pytest

from nwx.engine.base import Engine
from nwx.query.parser import parse_query
from nwx.query.question import Question
from nwx.searching.trends import distinctive_words
from tests.conformance.archive import batch, page
from tests.conformance.asking import ask, search

ABOVE_ENGINES = ("test_words_with_an_apostrophe",)

TEXTS = {
    "straight": "l'école d'enfants; c'est aujourd'hui, dit O'Brien",
    "typographic": "L’ÉCOLE d’enfants: C’est aujourd’hui, dit O’Brien",
    "plain": "une école, enfants est",
    "italian": "dell'arte, un'altra",
    "english": "The children's room, CHILDREN’S books, don't",
    "few": "children of rock'n'roll",
    "other": "metall'arc, d 'arc, students' union",
}
BATCHES = [
    batch([page(f"http://example.org/{name}", "2010", text) for name, text in TEXTS.items()])
]
BOTH = {"straight", "typographic"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("école", {*BOTH, "plain"}),
        ("l'école", {*BOTH, "plain"}),
        ("L’Ecole", {*BOTH, "plain"}),
        ("l＇école", {*BOTH, "plain"}),
        ("enfants", {*BOTH, "plain"}),
        ("c'est", {*BOTH, "plain"}),
        ("aujourd'hui", BOTH),
        ("aujourd’hui", BOTH),
        ("hui", set()),
        ("o'brien", BOTH),
        ("brien", set()),
        ("arte", {"italian"}),
        ("altra", {"italian"}),
        ("arc", {"other"}),
        ("children", {"english", "few"}),
        ("children's", {"english", "few"}),
        ("don’t", {"english"}),
        ("student", set()),
        ("rock’n’roll", {"few"}),
        ('"école d\'enfants"', {*BOTH, "plain"}),
        ('"ecole enfants"', {*BOTH, "plain"}),
        ('"the children’s room"', {"english"}),
        ('"enfants aujourd\'hui"~2', BOTH),
        ("l'éc*", {*BOTH, "plain"}),
        ("d’?nfants", {*BOTH, "plain"}),
        ("*l'arc", {"other"}),
        ("children's*", {"english", "few"}),
        ("aujourd’*", BOTH),
        ("l'ecola~1", {*BOTH, "plain"}),
    ],
)
def test_words_with_an_apostrophe(archive: Engine, query: str, expected: set[str]) -> None:
    assert ask(archive, parse_query(query)) == expected


@pytest.mark.parametrize(
    ("query", "marked"),
    [("ecole", {"école", "ÉCOLE"}), ("children", {"children", "CHILDREN"}), ("l'arte", {"arte"})],
)
def test_the_word_alone_is_marked(archive: Engine, query: str, marked: set[str]) -> None:
    hits = search(archive, parse_query(query), snippets=True).hits
    assert {piece for hit in hits for piece, is_match in hit.snippet if is_match} == marked


def test_distinctive_words_are_those_of_the_index(archive: Engine) -> None:
    found = distinctive_words(archive, Question(parse_query("children OR école")))
    words = {one.word: one for one in found.words}
    assert {"children", "école", "enfants", "aujourd'hui"} <= words.keys()
    assert not {"hui", "example", "straight"} & words.keys()
    for one in found.words:
        assert one.archive_documents == len(ask(archive, parse_query(f'"{one.word}"')))
