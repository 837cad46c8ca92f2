"""Digests exported as lists and filters, and compared."""

from hashlib import sha1
from pathlib import Path

import pytest

from nwx.cdx.inputs import CdxSource
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.digest_lists import (
    DigestReport,
    cdx_payloads,
    compare_digests,
    export_digests,
    measure_held,
)
from nwx.dedup.policies import Revisits
from nwx.errors import FormatError, UsageError
from nwx.values.digests import digest_of
from tests.unit.dedup.test_savings import Line

BYTES = 700


def digest(number: int) -> str:
    """Return a digest by its number."""
    return digest_of("sha1", sha1(str(number).encode(), usedforsecurity=False).digest())


def cdx_of(path: Path, numbers: range, mime: str = "text/html") -> Path:
    """Write a CDX file of payloads, each captured twice."""
    lines = [
        Line(f"http://{n}.example/", 20100101000000 + second, mime, digest(n), BYTES + second).text
        for n in numbers
        for second in range(2)
    ]
    path.write_text("".join(lines))
    return path


def exported(cdx: Path, out: Path, rate: float = 0.0) -> DigestReport:
    """Export the digests of a CDX file."""
    chosen = CaptureFilter(revisits=Revisits.OUT)
    return export_digests(
        lambda report, folder: cdx_payloads([CdxSource(str(cdx))], chosen, report, folder),
        out,
        rate,
    )


def no_archive(place: str) -> list[dict[str, str]]:
    raise AssertionError(place)


def test_a_list_has_each_digest_once_in_order(tmp_path: Path) -> None:
    report = exported(cdx_of(tmp_path / "a.cdx", range(50)), tmp_path / "list")
    lines = (tmp_path / "list").read_text().splitlines()
    assert lines == sorted(f"{digest(n)} {BYTES + 1}" for n in range(50))
    assert (report.captures, report.digests, report.bytes) == (100, 50, 50 * (BYTES + 1))


def test_revisits_and_broken_digests_are_left_out(tmp_path: Path) -> None:
    revisits = cdx_of(tmp_path / "a.cdx", range(5), "warc/revisit")
    broken = Line("http://a.example/", 20100101000000, "text/html", "sha1:x", 5).text
    revisits.write_text(revisits.read_text() + broken + broken.replace("sha1:x", "-") + "broken\n")
    report = exported(revisits, tmp_path / "list")
    assert (report.digests, report.without_digest, report.problems_total) == (0, 2, 1)
    assert (tmp_path / "list").read_bytes() == b""


def test_the_order_in_which_captures_come_does_not_matter(tmp_path: Path) -> None:
    cdx = cdx_of(tmp_path / "a.cdx", range(20))
    exported(cdx, tmp_path / "list")
    cdx.write_text("".join(reversed(cdx.read_text().splitlines(keepends=True))))
    exported(cdx, tmp_path / "other")
    assert (tmp_path / "list").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("form", ["cdx", "list", "filter"])
def test_places_of_each_form_are_compared(tmp_path: Path, form: str) -> None:
    first, second = cdx_of(tmp_path / "a", range(30)), cdx_of(tmp_path / "b", range(20, 60))
    other = second
    if form != "cdx":
        other = tmp_path / form
        exported(second, other, 1e-9 if form == "filter" else 0.0)
    for turned in (False, True):
        a, b = (other, first) if turned else (first, other)
        found = compare_digests(str(a), str(b), no_archive)
        mine, its = (found.second, found.first) if turned else (found.first, found.second)
        assert (mine.digests, its.digests, found.common) == (30, 40, 10)
        assert (mine.share, its.share) == (10 / 30, 0.25)
        assert mine.common_bytes == 10 * (BYTES + 1)
        assert its.common_bytes == (None if form == "filter" else 10 * (BYTES + 1))


def test_two_filters_do_not_tell(tmp_path: Path) -> None:
    exported(cdx_of(tmp_path / "a.cdx", range(3)), tmp_path / "filter", 0.1)
    with pytest.raises(UsageError, match="two filters"):
        compare_digests(str(tmp_path / "filter"), str(tmp_path / "filter"), no_archive)


@pytest.mark.parametrize("held", ["list", "filter"])
def test_captures_whose_payload_is_held_would_be_saved(tmp_path: Path, held: str) -> None:
    exported(cdx_of(tmp_path / "b", range(20, 60)), tmp_path / held, 1e-9 * (held == "filter"))
    cdx = CdxSource(str(cdx_of(tmp_path / "a", range(30))))
    chosen = CaptureFilter(revisits=Revisits.OUT)
    found = measure_held([cdx], str(tmp_path / held), chosen)
    assert (found.captures, found.bytes) == (20, 10 * (2 * BYTES + 1))


@pytest.mark.parametrize("broken", ["sha1:x 5\n", "", f"{digest(2)}\n"])
def test_a_broken_list_is_told(tmp_path: Path, broken: str) -> None:
    lines = sorted(f"{digest(n)} 5\n" for n in range(5))
    (tmp_path / "list").write_text("".join([*lines, broken or lines[0]]))
    with pytest.raises(FormatError, match="list:6 "):
        compare_digests(str(tmp_path / "list"), str(tmp_path / "list"), no_archive)
