"""Quotations are found at exactly their positions, word for word, and nowhere else."""

from random import Random

import pytest

from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.model import Batch
from nwx.searching import quotations
from nwx.searching.quotations import QuoteScope, find_quotation
from tests.conformance.archive import also, batch, capture, dates_of, page
from tests.quoted_pages import altered, planted_pages

ABOVE_ENGINES = (
    "test_one_changed_word_fails",
    "test_the_index_finds_them_too",
    "test_planted_sentences_are_dated_exactly",
)

BATCH, PLANTED = planted_pages(8, 200)
BATCHES = [BATCH]


def test_planted_sentences_are_dated_exactly(archive: Engine) -> None:
    for one in PLANTED:
        found = find_quotation(archive, one.text, QuoteScope(url=one.url))
        assert found.verified and found.complete, one
        assert (found.first, found.last) == (one.present[0], one.present[-1]), one
        assert found.captures == len(one.present), one
        (period,) = found.periods
        assert period.before == max((d for d in one.absent if d < found.first), default="")
        assert period.after == min((d for d in one.absent if d > found.last), default="")
        stored = archive.documents([each.id for each in found.versions])
        for each in found.versions:
            text = stored[each.id].extract.content[each.start : each.end]
            assert " ".join(text.split()) == one.text


@pytest.mark.parametrize("of_site", [True, False])
def test_the_index_finds_them_too(archive: Engine, of_site: bool) -> None:
    for one in PLANTED[:: 1 if of_site else 10]:
        site = one.url.split("/")[2] if of_site else ""
        found = find_quotation(archive, one.text, QuoteScope(site=site))
        assert (found.first, found.last) == (one.present[0], one.present[-1]), one
        assert {each.url for each in found.versions} == {one.url}
        assert sum(len(each.timestamps) for each in found.versions) == len(one.present)


def test_one_changed_word_fails(archive: Engine) -> None:
    chance = Random(3)
    for one in PLANTED:
        changed = altered(one.text, chance)
        for scope in (QuoteScope(url=one.url), QuoteScope(site=one.url.split("/")[2])):
            assert not find_quotation(archive, changed, scope).verified, changed


def test_dates_limit_the_captures(archive: Engine) -> None:
    one = next(one for one in PLANTED if len(one.present) > 4)
    year = one.present[2][:4]
    found = find_quotation(archive, one.text, QuoteScope(one.url, "", year, year))
    assert (found.first, found.last, found.captures) == (one.present[2], one.present[2], 1)
    missing = find_quotation(archive, one.text, QuoteScope(one.url, "", "2001", "2002"))
    assert not missing.verified and missing.first == ""
    with pytest.raises(UsageError):
        find_quotation(archive, one.text, QuoteScope(one.url, "site3.example"))


def test_words_go_and_come_back_whatever_redirects_say(engine: Engine) -> None:
    url = "http://a.test/"
    old, new = (page(url, date, text) for date, text in (("2010", "It rains."), ("2012", "Sun.")))
    moved = page(url, "20110601", "Moved", status=301)
    engine.write(batch([old, new, moved], [also(old, "2010", "2011", "2014", "2015")]))
    engine.refresh()
    found = find_quotation(engine, "It  rains", QuoteScope(url))
    told = [(one.first[:4], one.last[:4], one.captures, one.before[:4], one.after[:4])
            for one in found.periods]  # fmt: skip
    assert told == [("2010", "2011", 2, "", "2012"), ("2014", "2015", 2, "2012", "")]


def test_a_revisit_has_the_text_of_the_url_that_it_repeats(engine: Engine) -> None:
    shown = page("http://a.test/", "2010", "The same everywhere.")
    other = capture("http://b.test/", "2012", digest=shown.capture.digest, record_type="revisit")
    engine.write(batch([shown]))
    engine.write(Batch(captures=(other,), dates=dates_of(other)))
    engine.refresh()
    found = find_quotation(engine, "same everywhere", QuoteScope("http://b.test/"))
    assert (found.first[:4], found.captures) == ("2012", 1)


@pytest.mark.parametrize("url", ["http://a.test/", ""])
def test_shapes_of_quotation_marks_do_not_matter(engine: Engine, url: str) -> None:
    text = "She said \u201cthe city\u2019s lamp\u201d is \u00ab l\u2018ancien \u00bb phare."
    engine.write(batch([page("http://a.test/", "2010", text)]))
    engine.refresh()
    for quoted in (text, "said \"the city's lamp\" is", "\u201ethe city\u2019s lamp\u201c",
                   "is \" l'ancien \" phare"):  # fmt: skip
        (version,) = find_quotation(engine, quoted, QuoteScope(url)).versions
        assert version.end - version.start == len(quoted)
    for quoted in ('is "l\'ancien" phare', '"l\'ancien" phare', 'said " the city\'s lamp "'):
        (version,) = find_quotation(engine, quoted, QuoteScope(url)).versions
        found = text[version.start : version.end]
        assert found == found.strip() and found.count(" ") in range(1, 5), quoted
    for other in ("the citys lamp", "the city,s lamp", "said 'the city's lamp'"):
        assert not find_quotation(engine, other, QuoteScope(url)).verified, other


def test_it_says_if_not_all_was_read(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotations, "MOST_COMPARED", 2)
    engine.write(batch(page(f"http://a.test/{n}", "2010", f"Common words {n}") for n in range(4)))
    engine.refresh()
    found = find_quotation(engine, "Common words", QuoteScope(site="a.test"))
    assert found.verified and not found.complete
