"""nwx kibana."""

import json
from pathlib import Path

from nwx.exports.kibana import as_lines, saved_objects
from tests.cli.conftest import run_nwx


def test_saved_objects_are_printed(tmp_path: Path) -> None:
    assert run_nwx(tmp_path, "kibana").out == as_lines(saved_objects("nwx"))
    ran = run_nwx(tmp_path, "--prefix", "news", "kibana")
    assert json.loads(ran.out.splitlines()[0])["attributes"]["title"] == "news-captures"


def test_a_kibana_that_is_away_is_a_failure(tmp_path: Path) -> None:
    ran = run_nwx(tmp_path, "kibana", "--push", "http://127.0.0.1:9", code=1)
    assert "no kibana answers at http://127.0.0.1:9" in ran.err
    assert "Traceback" not in ran.err
    assert run_nwx(tmp_path, "kibana", "--push", "kibana", code=2).err.startswith("nwx: 'kibana'")
