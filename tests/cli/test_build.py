"""nwx build, and the messages of an import about built indices."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, run_nwx

SAMPLE = Path("sample/archive").resolve()
FIRST, SECOND = SAMPLE / "LANTERN-2008-00000.arc.gz", SAMPLE / "LANTERN-2010-00000.warc.gz"


def test_builds_follow_the_captures(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    assert "not up to date" not in run_nwx(archive, "import", FIRST).err  # no index was built
    built = json.loads(run_nwx(archive, "build", "--json").out)
    assert list(built) == ["facets", "links", "pictures"]
    assert run_nwx(archive, "build").out == "everything is up to date; --anew rebuilds it\n"
    told = run_nwx(archive, "import", SECOND)
    assert "not up to date with this import: facets, links, pictures; run nwx build" in told.err
    assert run_nwx(archive, "build", "links").out.startswith("links: ")
    assert "facets, pictures; run" in run_nwx(archive, "import", SECOND).err
    again = run_nwx(archive, "import", "--build", SECOND)
    assert [line.partition(":")[0] for line in again.out.splitlines()[2:]] == [
        "facets",
        "pictures",
    ]
    assert json.loads(run_nwx(archive, "build", "--json").out) == {}


@pytest.mark.parametrize("name", ["picture", "FACETS "])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    told = run_nwx(tmp_path / "archive", "build", name, code=2)
    assert "'facets', 'links', 'pictures', 'triples', 'vectors', 'all'" in told.err


def test_on_a_server_triples_need_a_place(
    elasticsearch_url: str, elasticsearch_prefix: str
) -> None:
    def run(*command: object, code: int = 0) -> Ran:
        return run_nwx(elasticsearch_url, *command, code=code, NWX_PREFIX=elasticsearch_prefix)

    run("import", FIRST)
    built = run("build", "all", "--json")
    assert list(json.loads(built.out)) == ["facets", "links", "pictures"]
    assert "triples are left out" in built.err
    assert "NWX_TRIPLES" in run("build", "triples", code=2).err
