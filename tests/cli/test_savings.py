"""nwx savings."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.unit.dedup.test_savings import Line


@pytest.fixture
def cdx(tmp_path: Path) -> Path:
    """A page captured three times, and a copy of it at another URL."""
    urls = ("http://a.example/", "http://a.example/", "http://www.a.example/", "http://b.example/")
    path = tmp_path / "a.cdx"
    path.write_text(
        "".join(
            Line(url, 20100101000000 + number, "text/html", "A" * 32, 10_500).text
            for number, url in enumerate(urls)
        )
    )
    return path


def test_policies_are_compared(nwx: Nwx, cdx: Path) -> None:
    out = nwx("savings", cdx).out
    first, _, *rows = (line.split() for line in out.splitlines())
    assert " ".join(first) == "4 captures, 42.0 KB; 0 revisits, 0 B"
    assert rows[0] == "the same URL 1 25% 10.0 KB 24%".split()
    assert rows[1] == "the same URL in any spelling 2 50% 20.0 KB 48%".split()
    assert rows[2] == "any URL 3 75% 30.0 KB 71%".split()
    assert rows[4] == "text/html 4 1 42.0 KB 10.5 KB".split()


def test_revisits_are_counted_whatever_the_filter(nwx: Nwx, cdx: Path) -> None:
    with cdx.open("a") as stream:
        stream.write(Line("http://a.example/", 20110101000000, "warc/revisit", "A" * 32, 700).text)
    out = nwx("savings", "--mime", "image/*", cdx).out
    assert out.startswith("0 captures, 0 B; 1 revisit of any type and size, 700 B\n")


def test_json_from_standard_input(nwx: Nwx, cdx: Path) -> None:
    told = nwx("savings", "-", "--json", stdin=cdx.read_bytes()).json
    assert (told["captures"], told["bytes"]) == (4, 42_000)
    assert [policy["net_bytes"] for policy in told["policies"]] == [10_000, 20_000, 30_000]
    assert told["policies"][2]["by_host"][0] == {
        "value": "a.example",
        "captures": 2,
        "duplicates": 1,
        "bytes": 21_000,
        "bytes_of_duplicates": 10_500,
    }


def test_lines_that_cannot_be_read_are_told(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text("broken\n")
    ran = nwx("savings", tmp_path / "a.cdx", code=1)
    assert "a.cdx:1: " in ran.err
    assert "a.cdx:1: " in nwx("savings", "--strict", tmp_path / "a.cdx", code=1).err
    assert "nothing to read" in nwx("savings", code=2).err
