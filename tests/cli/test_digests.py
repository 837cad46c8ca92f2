"""nwx digests, and savings from captures stored elsewhere."""

from pathlib import Path

from tests.cli.conftest import Nwx
from tests.warcs import Page, html, write_warc


def warc(path: Path, *numbers: int) -> Path:
    """Write a WARC of some pages."""
    return write_warc(
        path,
        [
            Page(f"http://{n}.example/", "20240101000000", html("page", f"text {n}"))
            for n in numbers
        ],
    )


def test_two_institutions_see_what_they_have_in_common(nwx: Nwx, tmp_path: Path) -> None:
    nwx("import", warc(tmp_path / "a.warc.gz", 1, 2, 3))
    theirs = warc(tmp_path / "b.warc.gz", 3, 4)
    cdx = tmp_path / "b.cdx"
    nwx("cdx", theirs, "-o", cdx)
    assert nwx("digests", "export", tmp_path / "ours").out.startswith("3 digests, ")
    made = nwx("digests", "export", tmp_path / "theirs", cdx, "--filter", "--rate", "0.000001")
    assert "false-positive rate of " in made.err
    for other in (cdx, tmp_path / "theirs"):
        found = nwx("digests", "compare", other, "--json").json
        assert (found["common"], found["first"]["share"]) == (1, 0.5)
        assert found["second"]["digests"] == 3
        assert found == nwx("digests", "compare", other, "--json").json
    told = nwx("digests", "compare", tmp_path / "ours", cdx).out
    assert told.startswith("1 digest in common\n")
    assert "3 digests" in told and "33.3% in common" in told
    same = nwx("digests", "compare", tmp_path / "archive", tmp_path / "ours", "--json").json
    assert same["common"] == 3

    forecast = nwx("savings", cdx, "--held", tmp_path / "ours", "--json").json["held"]
    assert forecast["captures"] == 1
    assert "already held: 1 capture (50%)" in nwx("savings", cdx, "--held", tmp_path / "ours").out


def test_hidden_payloads_are_not_exported(nwx: Nwx, tmp_path: Path) -> None:
    nwx("import", warc(tmp_path / "a.warc.gz", 1, 2))
    nwx("access", "add", "exclude", "1.example", "--reason", "asked")
    for place, count in ((), 1), (("--unrestricted",), 2):
        told = nwx(*place, "digests", "export", tmp_path / "list", "--json").json
        assert told["digests"] == count
    theirs = nwx("digests", "compare", tmp_path / "archive", tmp_path / "list", "--json").json
    assert (theirs["common"], theirs["first"]["digests"]) == (1, 1)


def test_what_cannot_be_read_is_told(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("broken\n")
    assert (
        "broken:1: " in nwx("digests", "export", tmp_path / "list", tmp_path / "broken", code=1).err
    )
    assert "broken:1: " in nwx("digests", "compare", *[tmp_path / "broken"] * 2, code=1).err
    missing = tmp_path / "missing"
    assert "missing cannot be read" in nwx("digests", "compare", missing, missing, code=1).err
    assert "--rate" in nwx("digests", "export", tmp_path / "list", "--rate", "0", code=2).err
    (tmp_path / "a.cdx").write_text("")
    told = nwx("savings", tmp_path / "a.cdx", "--held", tmp_path, code=2).err
    assert "export its digests" in told
