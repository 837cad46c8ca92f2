"""nwx cdx-server and nwx cdx-load."""

import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, environment, run_nwx

LINE = (
    "example,a)/ {} http://a.example/ text/html 200 M5ORM4XQ5QCEZEDRNZRGSWXPCOGUVASI - - 9 {} x\n"
)


def fetch(address: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
    """Return status and text of a response."""
    request = urllib.request.Request(address, data, headers)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@contextmanager
def serving(folder: Path, *arguments: str, **variables: str) -> Iterator[str]:
    """Yield the address of a server, and end it as Ctrl-C does."""
    with subprocess.Popen(
        [COMMAND, "cdx-server", "--port", "0", *arguments],
        env=environment(folder, PYTHONUNBUFFERED="1", **variables),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+(?=/cdx)", process.stdout.readline())
            assert found, process.communicate(timeout=60)
            yield found[0]
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            assert "Traceback" not in err
        finally:
            process.kill()


def test_files_and_clusters_are_asked_together(tmp_path: Path) -> None:
    (tmp_path / "one.cdx").write_text(LINE.format("20100101000000", 1))
    (tmp_path / "two.cdx").write_text(
        LINE.format("20090101000000", 2) + LINE.format("20110101000000", 3)
    )
    with serving(tmp_path, "web=one.cdx", "web=two.cdx", "other=one.cdx") as address:
        status, text = fetch(f"{address}/web?url=http://a.example/")
        assert status == 200
        assert [line.split(" ")[1][:4] for line in text.splitlines()] == ["2009", "2010", "2011"]
        assert len(fetch(f"{address}/other/cdx?url=a.example")[1].splitlines()) == 1
        assert fetch(f"{address}/cdx/hex?url=a.example&fl=digest&limit=-1") == (
            200,
            "675d1672f0ec044c90716e62695aef138d4a8248\n",
        )
        assert fetch(f"{address}/health") == (200, "ok\n")
        assert fetch(f"{address}/nothing?url=a.example")[0] == 404
        assert fetch(f"{address}/web?url=" + "x" * 1_000_000)[0] == 400
        assert fetch(f"{address}/web?url=" + "x" * 2_000_000)[0] == 431
        assert fetch(f"{address}/web", LINE.format("20120101000000", 4).encode())[0] == 403
        for path in (
            "/..%2f..%2fetc%2fpasswd?url=a.example",
            "/../one.cdx",
            "/web/cdx/../../one.cdx",
        ):
            assert fetch(f"{address}{path}")[0] == 404


def test_an_archive_takes_captures_and_gives_them_back(tmp_path: Path) -> None:
    with serving(tmp_path, NWX_CDX_TOKEN="secret", NWX_ENGINE="new") as address:
        assert fetch(f"{address}/cdx?url=a.example") == (200, "")
        lines = "".join(LINE.format("20120101000000", place) for place in range(300))
        assert fetch(f"{address}/web", lines.encode(), Authorization="Bearer secret") == (
            200,
            "Added 300 records\n",
        )
        assert len(fetch(f"{address}/web?url=a.example")[1].splitlines()) == 300


def test_captures_are_loaded_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text(LINE.format("20100101000000", 1) + "bad\n")
    load = ("cdx-load", "--collection", "web", tmp_path / "a.cdx")
    ran = run_nwx(tmp_path / "new", *load)
    assert ran.out == "1 capture, 1 of them new, 1 bad line\n"
    assert "a.cdx line 2" in ran.err
    strict = run_nwx(tmp_path / "new", *load, "--strict", code=1)
    assert "a.cdx line 2: " in strict.err
    assert "nothing of this file was loaded" in strict.err
    run_nwx(tmp_path / "new", "cdx-load", "--strict", "--at-once", 5, tmp_path / "a.cdx", code=2)
    (tmp_path / "b.cdx").write_text(LINE.format("20110101000000", 2))
    ran = run_nwx(tmp_path / "new", *load, "gone.cdx", tmp_path / "b.cdx")
    assert ran.out == "2 captures, 1 of them new, 1 bad line\n"
    assert "nwx: gone.cdx cannot be opened: No such file or directory\n" in ran.err
    run_nwx(tmp_path / "new", "cdx-load", "gone.cdx", code=1)
    run_nwx(tmp_path / "new", "cdx-load", "gone.cdx", tmp_path / "b.cdx", "--strict", code=1)
    with serving(tmp_path, NWX_ENGINE=str(tmp_path / "new")) as address:
        assert len(fetch(f"{address}/web?url=a.example")[1].splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nothing.cdx",), 1, "nothing.cdx does not exist"),
        (("--cdx-token", "secret", "nothing.cdx"), 2, "--archive"),
        ((), 1, "no archive"),
    ],
)
def test_what_cannot_be_served_is_said(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ran = run_nwx(tmp_path / "away", "cdx-server", "--port", "0", *arguments, code=code)
    assert words in ran.err
