"""Records collected for writing."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from nwx.extract.extractors import Extractor
from nwx.importing.collector import CollectedBatch, Collector, Fate, Lookups, Memory
from nwx.importing.options import ImportOptions
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource
from tests.warcs import Page, html, write_warc

LISTED = "http://a.example/listed"
PAGES = [
    Page("http://a.example/", "20150101000000", html("A", "first text")),
    Page(LISTED, "20150102000000", html("B", "second text")),
    Page("http://a.example/x.png", "20150103000000", b"picture", "image/png"),
    Page("http://a.example/listed.png", "20150104000000", b"other", "image/png"),
    Page("http://a.example/", "20150105000000", html("A", "first text"), revisit=True),
]


def test_the_lists_are_looked_up_once_for_each_capture(tmp_path: Path) -> None:
    asked: Counter[tuple[str, str]] = Counter()

    def listed(url: str, digest: str, timestamp: str) -> bool:
        asked[url, timestamp] += 1
        return url.startswith(LISTED)

    path = write_warc(tmp_path / "a.warc.gz", PAGES)
    source = ArchiveSource(path.name, str(path), path.stat().st_size)
    collector = Collector(ImportOptions(), Lookups(listed=listed), lambda _: nullcontext(), {})
    reader = ArchiveReader(source, "web", keep=collector.wants)
    added = [collector.add(item) for item in reader if isinstance(item, CaptureRecord)]
    fates = [Fate.EXCLUDED if page.url.startswith(LISTED) else Fate.STORED for page in PAGES]
    assert added == fates
    assert asked == {(page.url, page.timestamp): 1 for page in PAGES}
    found = collector.take()
    assert found.excluded == 2
    assert {document.extract.title for document in found.documents} == {"A", ""}


def test_memory_forgets_what_was_met_long_ago() -> None:
    memory = Memory()
    memory.remember("first", 7)
    assert memory.precedence("first") == 7
    for number in range(30_000):
        memory.remember(str(number), 1)
    assert memory.precedence("first") == -1
    assert memory.precedence("29999") == 1


def collected(tmp_path: Path, *extractors: Extractor) -> CollectedBatch:
    path = write_warc(tmp_path / "b.warc.gz", PAGES[:1] + PAGES[2:3])
    source = ArchiveSource(path.name, str(path), path.stat().st_size)
    options = ImportOptions(extractors=extractors)
    collector = Collector(options, Lookups(), lambda _: nullcontext(), {})
    for item in ArchiveReader(source, "web", keep=collector.wants):
        if isinstance(item, CaptureRecord):
            collector.add(item)
    return collector.take()


def test_a_command_gives_the_text_of_what_has_none(tmp_path: Path) -> None:
    found = collected(tmp_path, Extractor("*/*", ("tr", "a-z", "A-Z")))
    texts = {document.capture.url: document.extract.content for document in found.documents}
    assert texts == {"http://a.example/": "first text", "http://a.example/x.png": "PICTURE"}
    assert found.errors == ()


def test_a_command_that_fails_is_an_error_of_its_record(tmp_path: Path) -> None:
    found = collected(tmp_path, Extractor("image", ("false",)))
    assert [error.kind for error in found.errors] == ["extract"]
    assert "false failed (exit code 1" in found.errors[0].message
    assert len(found.documents) == 2
