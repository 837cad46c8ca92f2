"""Purging removes the captures of a page from all indices and their files."""

from dataclasses import replace
from pathlib import Path

import pytest

from nwx.access.restricted_engine import restricted_to
from nwx.bulk.progress import no_progress
from nwx.cdx.inputs import CdxSource
from nwx.cdxserver.loaded_lines import load_lines
from nwx.dedup.added_dates import DatesLists, add_dates
from nwx.engine.access.access_index import stopped_purges
from nwx.engine.access.aclj import scope_of
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.engine.indices.picture_index import Appearance, Picture
from nwx.engine.indices.quality_index import Fault
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.keys import capture_id
from nwx.links.archive_links import ArchiveLinks
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.maintenance.purge import Purge, PurgeReport
from nwx.maintenance.takedown_targets import takedown_rule, takedown_scope
from nwx.model import Batch, Document, IndexName, Link
from nwx.query.tree import Term
from nwx.steering.specifications.specification_files import read_specification
from tests.conformance.archive import also, batch, capture, page, settings_of
from tests.conformance.asking import ask
from tests.conformance.engines import ENGINES, Opener
from tests.conformance.test_facets import cache
from tests.conformance.test_quality import FULL

ABOVE_ENGINES = (
    "test_a_payload_is_purged_by_its_further_digest_and_that_with_it",
    "test_rules_of_specifications_that_name_a_purged_url_are_reported",
    "test_a_text_that_another_capture_holds_stays",
    "test_a_text_goes_with_the_last_capture_that_holds_it",
    "test_a_digest_stays_while_another_capture_has_the_payload",
    "test_a_page_is_purged_with_its_renders_and_no_other",
    "test_a_purge_that_was_killed_is_finished_by_the_next",
    "test_dates_and_captures_that_were_purged_do_not_come_back",
)

DATES_OF_ENTRY = 1

NEW_ARCHIVES = True
"""Deleted entries would count in the statistics tested here."""

__all__ = ["cache"]

PHRASE = "qzxk7w3vphrase9j2fplanted"
ASIDE = "vk4tq8aside"
URL = f"http://{PHRASE}.example.com/{PHRASE}"
OTHER = "http://example.org/other"
FURTHER = f"sha256:{'a1' * 32}"


def planted() -> Document:
    return page(
        URL,
        "2010",
        f"a text with {PHRASE} in it",
        title=PHRASE,
        headings=(PHRASE,),
        links=(Link(OTHER, f"anchor {PHRASE}"), Link(f"{URL}/image", "", "img")),
    )


def other(n: int) -> Document:
    links = (Link("http://example.org/1", "one"),)
    return page(f"http://example.org/{n}", "2011", f"other text {n}", links=links)


def purge(engine: Engine, reopen: Opener, target: str, seconds: float = 0.0) -> PurgeReport:
    scope = takedown_scope(engine, target)
    rule = takedown_rule(engine, scope, "a court's order", purged=True)
    return run(engine, reopen, rule, seconds)


def run(engine: Engine, reopen: Opener, rule: AccessRule, seconds: float = 0.0) -> PurgeReport:
    report = Purge(engine, settings_of(engine), reopen, rule, no_progress, seconds).run()
    engine.refresh()
    return report


def holding(kind: str, engine: Engine, text: str = PHRASE, *, access: bool = False) -> set[str]:
    """Return the names of the files that contain a text, by default the planted phrase."""
    found = set()
    stored = ENGINES[kind].stored_files(engine, access=access)
    for path in (*stored, *engine.inlink_index().folder.rglob("*.*")):
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # of a segment just merged by the server
            continue
        if text.encode() in data or text.encode("utf-16-le") in data:
            found.add(path.name)
    return found


def fill(engine: Engine, reopen: Opener) -> None:
    """Plant a page in all indices of an archive, and build the derived ones."""
    shown = planted()
    engine.write(batch([shown, *map(other, range(60))], [also(shown, "2012 second")]))
    engine.append_dates([also(shown, "2013")], "further")
    engine.digests.add([(FURTHER, shown.capture.digest)])
    engine.refresh()
    id = capture_id("web", "a.warc.gz", shown.capture.source_file_offset)
    faults = (Fault("missing", URL, 404), Fault("console", detail=PHRASE))
    engine.quality_index().put([replace(FULL, id=id, url=URL, faults=faults)])
    links = (LinkScore(f"http://example.net/{PHRASE}", 0.5, "content", {"near": 0.5}, PHRASE),)
    score = DocumentScore(
        "votes", "v1", shown.capture.document_id, URL, "20100101000000", 0.5, "", links, ()
    )
    engine.crawl_index().put_scores([score])
    engine.crawl_queue().put([UrlUpdate("http://example.net/", 0.5, via=URL)])
    fill_crawls(engine)
    fill_pictures(engine, shown)
    for kept in (ASIDE.encode() * 1_000, b""):  # as if a document was set aside for a while
        engine.access_index().put_state("kept aside", kept)
    build_archive_facets(engine, FacetBuildOptions(min_captures=1))
    invert_links(engine, reopen, InlinkBuildOptions(workers=1))
    engine.refresh()
    engine.access_index().put([AccessRule("", Action.BLOCK, scope_of(other(2).capture.url))], "")
    assert ask(restricted_to(engine, EVERYBODY), Term("anchor", "one")) == {"1"}
    engine.refresh()


def fill_crawls(engine: Engine) -> None:
    """Save specifications with the page as a seed, and add pending updates to the outbox."""
    crawls, fine = engine.crawl_index(), 'name = "other"\nseeds = ["http://fine.example/"] # as is'
    texts = {
        "votes": f'name = "votes"\nseeds = ["{URL}", "{OTHER}"] # not {PHRASE}',
        "news": f'{{"name": "news", "seeds": ["{URL}?never=captured"]}}',
        "other": fine,
    }
    for name, text in texts.items():
        crawls.save_specification(name, "v1", text)
    crawls.save_specification("votes", "v2", f'name = "votes"\nseeds = ["{OTHER}"]')
    outbox = engine.outbox()
    outbox.add([UrlUpdate("http://a.example/", 0.4, via=URL), UrlUpdate(URL, 0.5)], "http://q/")
    outbox.add([UrlUpdate("http://b.example/", 0.4, via=OTHER)], "http://q/")


def fill_pictures(engine: Engine, shown: Document) -> None:
    """Put a picture that is on the planted page."""
    held = page(f"{OTHER}.png", "2010", "picture").capture
    picture = Picture(
        id=held.document_id,
        url=held.url,
        urlkey=held.urlkey,
        host=held.host,
        domain=held.domain,
        collection=held.collection,
        timestamp=held.timestamp,
        digest=held.digest,
        content_type="image/png",
        width=10,
        height=10,
    )
    appearance = Appearance(
        page=shown.capture.document_id,
        page_url=URL,
        page_title=PHRASE,
        page_timestamp=shown.capture.timestamp,
        page_collection="web",
        urlkey=held.urlkey,
        picture=held.document_id,
        alt=PHRASE,
    )
    engine.picture_index().put([picture], [appearance])


def test_nothing_of_a_purged_page_is_left_in_the_files(
    kind: str, engine: Engine, open_archive: Opener
) -> None:
    fill(engine, open_archive)
    assert ask(engine, Term("", PHRASE)) == {PHRASE}
    assert holding(kind, engine)
    report = purge(engine, open_archive, f"http://{PHRASE}.example.com/*", 60.0)
    assert (report.captures, report.documents, report.dates) == (1, 1, 3)
    assert (report.scores, report.checks, report.pictures) == (2, 1, 1)
    assert (report.specifications, report.naming) == (2, ())
    assert report.rebuilt == ("facets", "inlinks")
    assert report.left == ()
    assert [one.file for one in report.records] == ["a.warc.gz"]
    assert holding(kind, engine) == holding(kind, engine, ASIDE, access=True) == set()
    assert holding(kind, engine, FURTHER[-64:]) == set()
    assert engine.count(IndexName.DOCUMENTS) == engine.count(IndexName.CAPTURES) == 60
    assert ask(engine, Term("", PHRASE)) == set()
    assert len(ask(engine, Term("", "other"), limit=100)) == 60
    assert ArchiveLinks(engine).is_current()
    assert [one.url for one in engine.crawl_queue().lease(2)] == ["http://example.net/"]
    crawls = engine.crawl_index()
    seeds = [read_specification(one.text, "").seeds for one in crawls.versions("votes")]
    assert seeds == [(OTHER,), (OTHER,)]
    assert [one.text.endswith("# as is") for one in crawls.specifications()] == [False, True, False]
    waiting = [one.update for one in engine.outbox().pending("http://q/", 9)]
    assert [(one.url, one.via) for one in waiting] == [
        ("http://a.example/", ""),
        ("http://b.example/", OTHER),
    ]


def test_rules_of_specifications_that_name_a_purged_url_are_reported(
    engine: Engine, open_archive: Opener
) -> None:
    engine.write(batch([page(OTHER, "2010", "text")]))
    engine.refresh()
    text = f'name = "votes"\n[[rules]]\naction = "blacklist"\nexpressions = ["^{OTHER}"]\n'
    engine.crawl_index().save_specification("votes", "v1", text)
    engine.outbox().add([UrlUpdate(OTHER, None)], "http://q/")
    report = purge(engine, open_archive, OTHER)
    assert (report.specifications, report.naming) == (0, ("votes (number 1)",))
    assert [one.text for one in engine.crawl_index().specifications()] == [text]
    assert [one.update.url for one in engine.outbox().pending("http://q/", 9)] == [OTHER]


def with_captures(engine: Engine) -> Document:
    """Write a page captured twice, in two files, and a revisit of it."""
    shown = page("http://example.org/twice", "2010", "the text of both", source_file="a.warc.gz")
    again = replace(shown.capture, source_file="b.warc.gz", timestamp="20120101000000")
    revisit = replace(
        again, source_file="c.warc.gz", record_type="revisit", timestamp="20140101000000"
    )
    engine.write(batch([shown, other(1)], [also(shown, "2012", "2014")]))
    engine.write(Batch(captures=(again, revisit)))
    engine.refresh()
    return shown


def dates_now(engine: Engine, shown: Document) -> list[str]:
    id = shown.capture.document_id
    return [timestamp[:4] for dates in engine.dates([id]).values() for timestamp, _ in dates.seen]


def test_a_text_that_another_capture_holds_stays(engine: Engine, open_archive: Opener) -> None:
    shown = with_captures(engine)
    report = purge(engine, open_archive, "a.warc.gz")
    assert (report.captures, report.documents, report.moved, report.dates) == (2, 1, 1, 2)
    (kept,) = engine.documents([shown.capture.document_id]).values()
    assert (kept.capture.source_file, kept.extract) == ("b.warc.gz", shown.extract)
    assert dates_now(engine, shown) == ["2012", "2014"]
    assert ask(engine, Term("", "text")) == {"twice"}


def test_a_text_goes_with_the_last_capture_that_holds_it(
    engine: Engine, open_archive: Opener
) -> None:
    shown = with_captures(engine)
    rule = takedown_rule(
        engine, Scope(prefix="org,example", date_to="20131231235959"), "", purged=True
    )
    assert run(engine, open_archive, rule).captures == 3
    assert engine.documents([shown.capture.document_id]) == {}
    assert dates_now(engine, shown) == ["2014"]
    assert [one.record_type for one in engine.captures(shown.capture.urlkey)] == ["revisit"]


def test_a_digest_is_purged_with_its_revisits(engine: Engine, open_archive: Opener) -> None:
    shown = with_captures(engine)
    report = purge(engine, open_archive, shown.capture.digest)
    assert (report.captures, report.documents, report.dates) == (3, 1, 3)
    assert list(engine.captures(shown.capture.urlkey)) == []
    assert dates_now(engine, shown) == []
    assert engine.count(IndexName.DOCUMENTS) == 1


def test_a_payload_is_purged_by_its_further_digest_and_that_with_it(
    engine: Engine, open_archive: Opener
) -> None:
    shown, stays = with_captures(engine), f"sha256:{'b2' * 32}"
    engine.digests.add([(FURTHER, shown.capture.digest), (stays, other(1).capture.digest)])
    assert purge(engine, open_archive, FURTHER).captures == 3
    assert list(engine.captures(shown.capture.urlkey)) == []
    assert list(engine.digests.pairs()) == [(stays, other(1).capture.digest)]


def test_a_digest_stays_while_another_capture_has_the_payload(
    engine: Engine, open_archive: Opener
) -> None:
    shown = with_captures(engine)
    elsewhere = capture("http://elsewhere.example/", "2010", digest=shown.capture.digest)
    engine.write(Batch(captures=(elsewhere,)))
    engine.refresh()
    engine.digests.add([(FURTHER, shown.capture.digest)])
    purge(engine, open_archive, shown.capture.url)
    assert list(engine.captures_by_digest(FURTHER)) == [elsewhere]


def test_a_page_is_purged_with_its_renders_and_no_other(
    engine: Engine, open_archive: Opener
) -> None:
    shown, near = page(OTHER, "2010", "one"), page(f"{OTHER}/below", "2010", "two")
    view = capture(f"urn:view:{OTHER}", "2010", content_type="image/png")
    engine.write(batch([shown, near]))
    engine.write(Batch(captures=(view,)))
    engine.refresh()
    assert purge(engine, open_archive, OTHER).captures == 2
    assert [one["url"] for one in engine.scan(IndexName.CAPTURES)] == [near.capture.url]


@pytest.mark.parametrize("step", ["forget_pages", "erase", "remove_dates"])
def test_a_purge_that_was_killed_is_finished_by_the_next(
    engine: Engine, open_archive: Opener, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = with_captures(engine)
    with monkeypatch.context() as patched:
        holder = engine.crawl_queue() if step == "forget_pages" else engine.purger()
        patched.setattr(type(holder), step, _killed)
        with pytest.raises(KeyboardInterrupt):
            purge(engine, open_archive, "a.warc.gz")
    assert len(list(stopped_purges(engine))) == 1
    report = purge(engine, open_archive, "a.warc.gz")
    assert list(stopped_purges(engine)) == []
    assert [one.file for one in report.records] == ["a.warc.gz", "a.warc.gz"]
    (kept,) = engine.documents([shown.capture.document_id]).values()
    assert kept.capture.source_file == "b.warc.gz"
    assert dates_now(engine, shown) == ["2012", "2014"]
    assert engine.count(IndexName.CAPTURES) == 2


def _killed(self: object, *arguments: object) -> int:
    raise KeyboardInterrupt


def test_a_document_that_is_written_again_is_not_lost(
    engine: Engine, open_archive: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = with_captures(engine)
    with monkeypatch.context() as patched:
        patched.setattr(type(engine), "write", _killed)
        with pytest.raises(KeyboardInterrupt):
            purge(engine, open_archive, "a.warc.gz")
    engine.refresh()
    assert engine.documents([shown.capture.document_id]) == {}
    purge(engine, open_archive, "a.warc.gz")
    assert engine.documents([shown.capture.document_id])[shown.capture.document_id].extract == (
        shown.extract
    )


def test_dates_and_captures_that_were_purged_do_not_come_back(
    engine: Engine, open_archive: Opener, tmp_path: Path
) -> None:
    shown = with_captures(engine)
    purge(engine, open_archive, shown.capture.url)
    digest = shown.capture.digest.removeprefix("sha1:")
    line = f"org,example)/twice 20100101000000 {OTHER[:18]}/twice text/html 200 {digest} - - 9 0 a"
    engine.close()
    listed = tmp_path / "list"
    listed.write_text(f"{shown.capture.url} {digest} 20150101000000\n", encoding="utf-8")
    with open_archive() as later:
        loaded = load_lines(later, [line.encode()], "web", skip_bad=False, name="-")
        assert (loaded.lines, loaded.changed, loaded.purged) == (0, 0, 1)
        report = add_dates(later, DatesLists([CdxSource(str(listed), held=True)], "web"))
        assert (report.new, report.known, report.purged) == (0, 0, 1)
        assert dates_now(later, shown) == []


def test_a_takedown_without_a_purge_only_makes_a_rule(engine: Engine) -> None:
    with_captures(engine)
    scope = takedown_scope(engine, "http://example.org/twice")
    rule = takedown_rule(engine, scope, "a letter", purged=False)
    assert not engine.access_index().rules().purges(next(engine.captures("org,example)/twice")))
    purging = takedown_rule(engine, scope, "", purged=True)
    assert (purging.id, purging.reason, purging.purged) == (rule.id, "a letter", True)
    assert takedown_rule(engine, scope, "", purged=False).purged
    again = replace(rule, reason="a longer letter", purged=False)
    (stored,) = engine.access_index().put([again], "ada")
    assert (stored.reason, stored.purged) == ("a longer letter", True)
    assert engine.access_index().rules().purges(next(engine.captures("org,example)/twice")))
    assert engine.count(IndexName.CAPTURES) == 4
