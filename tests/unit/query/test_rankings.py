"""Weights of rankings, and their effect on queries."""

import pytest

from nwx.errors import UsageError
from nwx.query.question import Question, resolve
from nwx.query.rankings import DEFAULT, Ranking, most_words, ranking_of
from nwx.query.tree import Bool, Boost, Phrase, Term
from nwx.settings import RankingSettings


def test_the_first_neighbours_are_phrases() -> None:
    phrases = [Boost(Phrase("content", text), 2.0) for text in ("a b", "b c", "c d")]
    assert list(resolve(Question("a b c d e", ranking=Ranking(phrase=2.0))).bonus) == phrases
    assert resolve(Question("a OR b")).bonus == resolve(Question("a")).bonus == ()


def test_most_words_are_asked_for_where_all_must_match() -> None:
    words = tuple(Term("", word) for word in "abcd")
    assert most_words(resolve(Question("a b c d a")).tree) == Bool(should=words, least=2)
    address = Bool(should=(Term("", "a.example"), Phrase("url_text", "a example")))
    loose = most_words(resolve(Question("a a.example")).tree)
    assert loose == Bool(should=(Term("", "a"), address))
    for other in ("a", "a.example", "a OR b", 'a "b c"', "a title:b"):
        assert most_words(resolve(Question(other)).tree) is None


def test_links_weigh_as_the_settings_say_unless_a_ranking_does() -> None:
    usual = RankingSettings(4.0, 0.5)
    assert DEFAULT.links(usual) == usual
    assert Ranking(anchors=1.0, inlinks=0.0).links(usual) == RankingSettings(1.0, 0.0, 0.5)


def test_unknown_and_wild_weights_are_refused() -> None:
    assert ranking_of({"title": 2.0}) == Ranking(title=2.0)
    with pytest.raises(UsageError, match="no weight colour"):
        ranking_of({"colour": 1.0})
    with pytest.raises(UsageError, match="it must be 0 to 1,000"):
        ranking_of({"url": -1.0})
