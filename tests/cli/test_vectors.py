"""nwx build vectors and nwx search --by."""

import shlex
import sys
from pathlib import Path

from tests import embedder
from tests.cli.conftest import run_nwx

SAMPLE = Path("sample/archive").resolve()
COMMAND = f"{shlex.quote(sys.executable)} {shlex.quote(embedder.__file__)}"


def test_passages_are_built_by_name_and_searched(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    run_nwx(archive, "import", "--quiet", SAMPLE / "LANTERN-2010-00000.warc.gz")
    refused = run_nwx(archive, "search", "ship", "--by", "meaning", code=2)
    assert "run nwx build vectors" in refused.err
    built = run_nwx(archive, "build", "vectors", "--embedder", COMMAND, "--json").json["vectors"]
    assert built["passages"] >= built["documents"] > 10
    asked = ("search", "vessel", "--by", "both", "--embedder", COMMAND, "--json")
    assert run_nwx(archive, *asked).json["total"]["value"] >= 10
    other = run_nwx(archive, "search", "vessel", "--by", "meaning", code=2)
    assert "NWX_EMBEDDER" in other.err
    assert run_nwx(archive, "build", "vectors", NWX_EMBEDDER=COMMAND).out.startswith(
        "vectors: 0 new documents, 0 passages"
    )
    first = next(iter(run_nwx(archive, "dump", "vectors").out.splitlines()))
    assert '"vector"' in first
