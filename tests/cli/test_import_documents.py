"""Importing documents files from the command line."""

import time
from pathlib import Path

import pytest

from nwx.importing.options import ImportOptions
from tests.cli.conftest import run_nwx
from tests.cli.test_killed import dumped, start, wait_for_the_end_of_all
from tests.documents_files import write_documents
from tests.warcs import many_pages, write_warc


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    warcs = [
        write_warc(folder / f"{number}.warc.gz", many_pages(450, start=number * 240))
        for number in range(2)
    ]
    return write_documents(folder / "out", warcs, ImportOptions(collection="web"))


def test_a_load_that_is_killed_goes_on(documents: Path, tmp_path: Path) -> None:
    whole, killed = str(tmp_path / "whole"), str(tmp_path / "killed")
    began = time.monotonic()
    ran = run_nwx(whole, "import", "--documents", documents, "--json")
    seconds = time.monotonic() - began
    assert (ran.json["captures"], ran.json["documents"]) == (1_200, 690)
    for share in (0.4, 0.7):
        process = start(killed, [Path("--documents"), documents])
        time.sleep(share * seconds)
        process.kill()
        process.communicate()
        wait_for_the_end_of_all(process.pid)
    run_nwx(killed, "import", "--documents", documents)
    assert dumped(killed) == dumped(whole)


def test_options_that_do_not_go_with_documents(documents: Path, tmp_path: Path) -> None:
    for options, message in (
        (["a.warc.gz"], "archive files and --documents cannot be combined"),
        (["--parser", "bs4"], "--parser applies to archive files only"),
    ):
        ran = run_nwx(tmp_path / "a", "import", "--documents", documents, *options, code=2)
        assert message in ran.err
    (tmp_path / "a.parquet").write_bytes(b"PAR1 is cut")
    ran = run_nwx(tmp_path / "a", "import", "--documents", tmp_path / "a.parquet", code=1)
    assert "a.parquet cannot be read" in ran.err
    assert not (tmp_path / "a").exists()
