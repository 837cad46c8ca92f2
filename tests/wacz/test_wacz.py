"""Our WACZ files are valid for py-wacz, and pywb plays them."""

import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, run_nwx
from tests.environments import WACZ, prepare
from tests.warcs import Page, html, write_warc
from tests.zipnum.pywb import Pywb, running_pywb

pytestmark = pytest.mark.xdist_group("wacz")

SAMPLE = Path(__file__).parent.parent.parent / "sample" / "archive"
PAGE = Page("http://www.quarry.example/", "20140126200624", html("Quarry", "Slate of the quarry"))
AGAIN = Page(PAGE.url, "20160126200624", PAGE.body, revisit=True)
OTHER = Page("http://www.quarry.example/other", "20160126200624", html("Other", "Marble"))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the sample, and of three pages of a quarry in a separate collection."""
    folder = tmp_path_factory.mktemp("wacz")
    run_nwx(folder / "archive", "import", "--collection", "sample", SAMPLE)
    warc = write_warc(folder / "quarry.warc.gz", [PAGE, AGAIN, OTHER])
    run_nwx(folder / "archive", "import", "--collection", "quarry", warc)
    return folder / "archive"


def is_valid(wacz: Path) -> bool:
    """Return whether py-wacz accepts a file."""
    command = [str(prepare(WACZ)), "-m", "wacz.main", "validate", "-f", str(wacz)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and "Validation succeeded" in done.stdout


@pytest.mark.parametrize("arguments", [[], ["quarry"], ["--collection", "sample", "--no-text"]])
def test_py_wacz_says_that_it_is_valid(archive: Path, tmp_path: Path, arguments: list[str]) -> None:
    out = tmp_path / "out.wacz"
    run_nwx(archive, "wacz", out, *arguments, "--title", "A quarry")
    assert is_valid(out)


def test_py_wacz_sees_what_is_wrong(archive: Path, tmp_path: Path) -> None:
    out, changed = tmp_path / "out.wacz", tmp_path / "changed.wacz"
    run_nwx(archive, "wacz", out, "quarry")
    with zipfile.ZipFile(out) as one, zipfile.ZipFile(changed, "w") as other:
        for name in one.namelist():
            other.writestr(name, one.read(name) + (b"x" if name.endswith(".warc.gz") else b""))
    assert not is_valid(changed)


@pytest.fixture(scope="module")
def pywb(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    """A pywb with the WARC of a WACZ, and with its index converted to a cluster."""
    root = tmp_path_factory.mktemp("player")
    run_nwx(archive, "wacz", root / "out.wacz", "slate", "--collection", "quarry")
    folder = root / "collections" / "packed"
    with zipfile.ZipFile(root / "out.wacz") as packed:
        packed.extract("archive/data-00000.warc.gz", folder)
    convert = ("zipnum", "convert", root / "out.wacz", folder / "indexes", "--to", "zipnum")
    run_nwx(archive, *convert)
    with running_pywb(root) as running:
        yield running


def test_pywb_plays_what_was_packed(pywb: Pywb) -> None:
    assert "Slate of the quarry" in pywb.get(f"packed/{PAGE.timestamp}mp_/{PAGE.url}")
    assert "Slate of the quarry" in pywb.get(f"packed/{AGAIN.timestamp}mp_/{AGAIN.url}")
    assert len(pywb.places("packed", url=PAGE.url)) == 2
    assert pywb.places("packed", url=OTHER.url) == []


def test_nwx_reads_its_own(archive: Path, tmp_path: Path) -> None:
    run_nwx(archive, "wacz", tmp_path / "out.wacz", "--collection", "quarry")
    ran = run_nwx(tmp_path / "again", "import", tmp_path / "out.wacz", "--json")
    assert ran.json["captures"] == 3
    found = run_nwx(tmp_path / "again", "search", "slate", "--json").json
    assert [hit["dates"] for hit in found["hits"]] == [[PAGE.timestamp, AGAIN.timestamp]]


def ask(archive: Path, *arguments: object, code: int = 0) -> Ran:
    return run_nwx(archive, "wacz", *arguments, code=code)


def test_urls_come_from_a_file_or_standard_input(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text(f"# pages\n\n{OTHER.url}\n")
    report = ask(archive, tmp_path / "a.wacz", "--urls", tmp_path / "urls", "--json").json
    assert (report["captures"], report["missing"]) == (1, 0)
    arguments = (tmp_path / "b.wacz", "--urls", "-", "--json")
    ran = run_nwx(archive, "wacz", *arguments, stdin=PAGE.url.encode())
    assert ran.json["captures"] == 2


def test_wrong_use_is_told(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.wacz"
    assert "--from" in ask(archive, "--help").out
    assert "the selection has no captures" in ask(archive, out, "absentword", code=1).err
    assert "cannot be read" in ask(archive, out, "--urls", tmp_path / "none", code=1).err
    (tmp_path / "empty").write_text("\n")
    assert "has no URLs" in ask(archive, out, "--urls", tmp_path / "empty", code=2).err
    assert "20x0" in ask(archive, out, "--from", "20x0", code=2).err
    assert not out.exists()


def test_a_name_by_which_no_reader_would_know_a_wacz_is_refused(
    archive: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    ran = ask(archive, tmp_path / "notes.txt", code=2)
    assert "notes.txt does not end in .wacz" in ran.err
    assert (tmp_path / "notes.txt").read_text() == "notes"
