"""The pywb dialect gives the same answers as the real pywb, where these are correct."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nwx.cdxserver.query_model import PYWB, parameters_of
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import open_sources
from tests.conformance.captures import CAPTURES, cdx_lines, write_cluster

# Not tested: truncated dates in `closest`, which pywb pads to the end of the period, and
# this server, as everywhere, to its beginning; and negative limits, which pywb lacks.
HOME = "url=http://www.example.org/"
DOMAIN = "url=*.example.org"
FIELDS = "&output=text&fl=urlkey,timestamp,url,mime,status,digest,redirect,length,offset,filename"
QUESTIONS = (
    HOME,
    "url=example.org",
    "url=http://nowhere.example/",
    "url=http://example.org/a*",
    "url=http://example.org/a/*",
    "url=http://example.org/a&matchType=prefix",
    "url=http://example.org/a&matchType=host",
    "url=http://example.org:8080/a&matchType=host",
    DOMAIN,
    "url=org&matchType=domain",
    f"{HOME}&limit=3",
    f"{HOME}&from=2006&to=2008",
    f"{HOME}&from=20060102&to=200601",
    f"{HOME}&to=20060102000000",
    f"{HOME}&sort=reverse",
    f"{HOME}&sort=reverse&limit=2",
    f"{DOMAIN}&sort=reverse&limit=5",
    f"{HOME}&closest=20060102000004",
    f"{HOME}&closest=20070101000000&limit=3",
    f"{HOME}&closest=20080101000000&sort=closest&limit=100",
    f"{HOME}&filter=mime:html",
    f"{HOME}&filter=!mimetype:html",
    f"{HOME}&filter==status:200",
    f"{HOME}&filter=!=status:200",
    f"{HOME}&filter=~status:[34]",
    f"{HOME}&filter=!~mime:text",
    f"{HOME}&filter=404",
    f"{HOME}&filter=mime:html&filter=!status:200",
    f"{DOMAIN}&filter=mime:warc/revisit&limit=2",
    f"{HOME}&collapseTime=4",
    f"{HOME}&collapseTime=6&limit=3",
    f"{HOME}&collapseTime=4&sort=reverse",
    f"{HOME}&collapseTime=4&sort=reverse&limit=2",
    f"{DOMAIN}&collapseTime=6&reverse=true&limit=7",
)


@pytest.mark.parametrize("kind", ["cdx", "zipnum"])
def test_answers_are_those_of_pywb(tmp_path: Path, kind: str) -> None:
    lines = cdx_lines(CAPTURES)
    if kind == "zipnum":
        write_cluster(tmp_path, lines)
    else:
        (tmp_path / "index.cdx").write_bytes(b"".join(line + b"\n" for line in lines))
    theirs = _pywb(tmp_path, [f"{question}{FIELDS}" for question in QUESTIONS])
    server = CdxServer(open_sources([str(tmp_path)]))
    try:
        ours = [_ours(server, f"{question}{FIELDS}") for question in QUESTIONS]
    finally:
        server.close()
    assert dict(zip(QUESTIONS, ours, strict=True)) == dict(zip(QUESTIONS, theirs, strict=True))
    assert sum(map(len, ours)) > 100


def _ours(server: CdxServer, question: str) -> list[str]:
    question += "&digest=bare"  # pywb returns digests as they are in the index
    return b"".join(server.answer(parameters_of(question), PYWB).pieces).decode().splitlines()


def _pywb(folder: Path, questions: list[str]) -> list[list[str]]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("pywb_answers.py")), folder],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[str]] = json.loads(done.stdout)
    return found
