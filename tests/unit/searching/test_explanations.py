"""What links have to do with a hit, in words."""

from dataclasses import replace

from nwx.model import FoundByLinks, Hit, ScoreParts
from nwx.searching.explanations import found_by_words, score_words

HIT = Hit("0" * 32, "http://a.test/", "", "", (), 12.36)


def test_found_by_links() -> None:
    assert found_by_words(FoundByLinks("annual report", 12)) == (
        "found by links: “annual report” from 12 hosts"
    )
    assert found_by_words(FoundByLinks("home", 1)).endswith("from 1 host")


def test_what_a_score_is_made_of() -> None:
    assert score_words(HIT) == ""
    made = replace(HIT, score_parts=ScoreParts(12.0, 3.5, 1.03, 1))
    assert score_words(made) == (
        "score 12.36 = the higher of text 12.00 and anchors 3.50, × 1.030 for 1 linking domain"
    )
    made = replace(HIT, score_parts=ScoreParts(12.0, 3.5, 1.03, 1_000))
    assert score_words(made).endswith("for 1,000 linking domains")
