"""Possible savings, counted by hand and by brute force."""

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from nwx.cdx.inputs import CdxSource
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.duplicates import USUAL_REVISIT_BYTES, measure_savings
from nwx.dedup.policies import Key
from nwx.errors import CdxError
from nwx.values.urlkeys import urlkey

HOSTS = ("a", "www.a", "b")
TYPES = ("text/html", "image/png", "warc/revisit")


@dataclass(frozen=True, slots=True)
class Line:
    """A capture in a CDX file."""

    url: str
    timestamp: int
    mime: str
    digest: str
    length: int

    @property
    def text(self) -> str:
        return (
            f"{urlkey(self.url)} {self.timestamp} {self.url} {self.mime} 200 {self.digest}"
            f" - - {self.length} 0 a.warc.gz\n"
        )


def some_lines(seed: int, count: int = 400) -> list[Line]:
    """Return captures of few URLs and digests, some in two spellings of one URL."""
    chance = random.Random(seed)
    return [
        Line(
            f"http://{chance.choice(HOSTS)}.example/{chance.randrange(9)}",
            20100101000000 + number // 60 * 100 + number % 60,
            chance.choice(TYPES),
            f"{chance.randrange(8):032}".translate(str.maketrans("0189", "ABCD")),
            chance.randrange(100, 5_000),
        )
        for number in range(count)
    ]


def write(path: Path, lines: list[Line], *, in_order: bool) -> list[CdxSource]:
    texts = [line.text for line in lines]
    path.write_text("".join(sorted(texts) if in_order else texts))
    return [CdxSource(str(path))]


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_policies_count_what_brute_force_does(tmp_path: Path, seed: int, in_order: bool) -> None:
    lines = some_lines(seed)
    looked_at = [line for line in lines if line.mime != "warc/revisit" and line.length >= 300]
    revisits = [line for line in lines if line.mime == "warc/revisit"]
    report = measure_savings(
        write(tmp_path / "a.cdx", lines, in_order=in_order), list(Key), CaptureFilter(min_bytes=300)
    )
    assert report.count == len(looked_at)
    assert report.captures.bytes == sum(line.length for line in looked_at)
    assert (report.revisits, report.revisits_bytes) == (
        len(revisits),
        sum(line.length for line in revisits),
    )
    for key in Key:
        seen: set[object] = set()
        saved: defaultdict[str, list[int]] = defaultdict(list)
        for line in looked_at:
            place = {
                Key.URL_DIGEST: (line.url, line.digest),
                Key.URLKEY_DIGEST: (urlkey(line.url), line.digest),
                Key.DIGEST: line.digest,
            }[key]
            if place in seen:
                saved[line.mime].append(line.length)
            seen.add(place)
        found = report.policies[key]
        assert found.duplicates == sum(map(len, saved.values()))
        assert found.savings.mime_bytes == {mime: sum(sizes) for mime, sizes in saved.items()}


def test_revisit_records_are_taken_off(tmp_path: Path) -> None:
    pages = [
        Line("http://a.example/", 20100101000000 + n, "text/html", "A" * 32, 2_000)
        for n in range(4)
    ]
    report = measure_savings(
        write(tmp_path / "a.cdx", pages, in_order=True), [Key.URL_DIGEST], CaptureFilter()
    )
    assert report.net_bytes(Key.URL_DIGEST) == 3 * (2_000 - USUAL_REVISIT_BYTES)
    pages.append(Line("http://a.example/", 20110101000000, "warc/revisit", "A" * 32, 700))
    report = measure_savings(
        write(tmp_path / "b.cdx", pages, in_order=True), [Key.URL_DIGEST], CaptureFilter()
    )
    assert report.net_bytes(Key.URL_DIGEST) == 3 * (2_000 - 700)


def test_files_without_lengths_and_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.cdx"
    path.write_text(
        " CDX N b a m s k r V g\n"
        "example,a)/ 20100101000000 http://a.example/ text/html 200 " + "A" * 32 + " - 1 a.gz\n"
        "example,a)/ 20110101000000 http://a.example/ text/html 200 " + "A" * 32 + " - 2 a.gz\n"
        "broken\n"
    )
    report = measure_savings([CdxSource(str(path))], [Key.DIGEST], CaptureFilter())
    assert (report.count, report.without_length) == (2, 2)
    assert report.policies[Key.DIGEST].duplicates == 1
    assert report.net_bytes(Key.DIGEST) == 0
    assert [problem.line for problem in report.reading.problems] == [4]
    with pytest.raises(CdxError, match=r"a\.cdx:4"):
        measure_savings([CdxSource(str(path))], [Key.DIGEST], CaptureFilter(), strict=True)


def test_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").touch()
    report = measure_savings([CdxSource(str(tmp_path / "a.cdx"))], list(Key), CaptureFilter())
    assert (report.count, report.net_bytes(Key.DIGEST)) == (0, 0)
