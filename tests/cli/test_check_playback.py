"""nwx check-playback with a fake browser."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Nwx, Ran, environment
from tests.cli.made_up_browser import COMMAND_LINE, LOGO
from tests.renders import page_record
from tests.warc_records import write_records

HOME, ABOUT = "http://a.example/", "http://a.example/about"


@pytest.fixture
def check(nwx: Nwx, tmp_path: Path) -> Callable[..., Ran]:
    """Checks an archive of two pages."""
    records = [page_record(url, "2020-01-01T00:00:00Z") for url in (HOME, ABOUT)]
    nwx("import", write_records(tmp_path / "a.warc.gz", records))

    def run(*arguments: object, stdin: str = "") -> Ran:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND_LINE, "check-playback", *map(str, arguments)],
            input=stdin,
            env=environment(tmp_path / "archive"),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


def test_faults_and_scores_are_printed_and_stored(
    nwx: Nwx, tmp_path: Path, check: Callable[..., Ran]
) -> None:
    found = check("--limit", 1, "--json")
    assert (found.json["pages"], found.json["checked"]) == (1, 1)
    assert found.json["faults"] == [
        {
            "url": HOME,
            "timestamp": "20200101000000",
            "kind": "missing",
            "resource": LOGO,
            "status": 404,
        }
    ]
    assert [score["url"] for score in found.json["scores"]] == [HOME]
    assert "without its sandbox" in found.err
    told = check("--out", tmp_path / "renders.warc.gz").out
    assert "1 of 2 pages checked, 1 checked before, 1 with faults, 1 missing" in told
    assert "0 of 2 pages checked, 2 checked before" in check("--no-renders").out
    assert {one["url"] for one in nwx("quality", "--json").json["scores"]} == {HOME, ABOUT}


def test_pages_of_a_list_are_checked_and_wrong_lines_are_told(check: Callable[..., Ran]) -> None:
    lines = f"# pages\n{ABOUT}\n\n20200101000000 {HOME}\nno page\n"
    found = check("--urls", "-", "--json", "--no-renders", stdin=lines)
    assert [score["url"] for score in found.json["scores"]] == [HOME, ABOUT]
    assert "standard input:5: 'no page' is not the URL of a page" in found.err
    assert check("--urls", "-", "--json").json["pages"] == 0


def test_options_that_do_not_go_together_are_refused(nwx: Nwx) -> None:
    for wrong in (("--urls", "a", "query"), ("--no-renders", "--comparison")):
        nwx("check-playback", *wrong, code=2)


def test_playback_must_answer_before_pages_are_checked(nwx: Nwx, tmp_path: Path) -> None:
    nwx(
        "import", write_records(tmp_path / "a.warc.gz", [page_record(HOME, "2020-01-01T00:00:00Z")])
    )
    told = nwx(
        *("check-playback", "--playback", "http://127.0.0.1:9/replay"),
        code=1,
        NWX_BROWSER=sys.executable,
    )
    assert "127.0.0.1:9" in told.err
    assert nwx("quality", "--json").json["pages"] == 0
    missing = nwx(
        "check-playback", "--urls", tmp_path / "none", code=None, NWX_BROWSER=sys.executable
    )
    assert (missing.code, "Traceback" in missing.err) == (1, False)
