"""dedup-cdx and revisits from the command line."""

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import command_server, environment, run_nwx
from tests.warcs import many_pages, write_warc

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent
URL = "http://www.example.org/"
A, B = "A" * 32, "B" * 32


def _run(
    *arguments: object, stdin: bytes = b"", command: str = "dedup-cdx"
) -> subprocess.CompletedProcess[bytes]:
    given = [command, *map(str, arguments)]
    ended = command_server().run(given, environment("archive"), stdin, 120)
    return subprocess.CompletedProcess(given, ended.code, ended.out, ended.err)


def _limited_run(file_limit: int, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """Run the command with a limit on file sizes in bytes."""
    return subprocess.run(
        [str(BIN / "nwx"), "dedup-cdx", *map(str, arguments)],
        # the limit would also truncate Python's bytecode cache
        env=environment("archive", PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit)),
    )


def _lines(count: int = 4) -> bytes:
    lines = [
        f"org,example)/ 2015{month:02} {URL} text/html 200 {A} - - 100 5 f.warc.gz\n"
        for month in range(1, count + 1)
    ]
    return "".join(lines).encode()


@pytest.fixture
def cdx(tmp_path: Path) -> Path:
    path = tmp_path / "in.cdx"
    path.write_bytes(_lines())
    return path


def test_the_list_goes_to_standard_output_and_counts_elsewhere(cdx: Path) -> None:
    done = _run(cdx)
    assert done.returncode == 0
    assert done.stdout.decode() == "".join(f"2015{month:02} {A} {URL}\n" for month in (2, 3, 4))
    assert done.stderr == b"4 lines, 1 key, 3 duplicates\n"


def test_standard_input_in_any_compression(cdx: Path) -> None:
    expected = _run(cdx).stdout
    assert _run("-", stdin=_lines()).stdout == expected
    assert _run("-", stdin=gzip.compress(_lines(), mtime=0)).stdout == expected


def test_a_named_pipe_is_read(cdx: Path, tmp_path: Path) -> None:
    shell = f"{BIN / 'nwx'} dedup-cdx <(cat {cdx}) {cdx} --quiet"
    done = subprocess.run(
        ["bash", "-c", shell], env=environment("archive"), capture_output=True, check=True
    )
    assert done.stdout.count(b"\n") == 6


def test_an_output_file_appears_whole(cdx: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.dup"
    done = _run(cdx, "-o", output)
    assert done.stdout == b"4 lines, 1 key, 3 duplicates\n"
    assert output.read_bytes().count(b"\n") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.cdx", "out.dup"]


def test_a_failure_leaves_the_output_as_it_was(cdx: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.dup"
    output.write_text("before")
    cdx.write_bytes(_lines() + b"broken\n")
    done = _run(cdx, "-o", output, "--strict")
    assert done.returncode == 1
    assert f"nwx: {cdx}:5: 1 fields; expected 7, 9, 10, 11, 14" in done.stderr.decode()
    assert output.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.cdx", "out.dup"]


@pytest.mark.parametrize("in_order", [True, False])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, in_order: bool) -> None:
    cdx, output, tmp = tmp_path / "in.cdx", tmp_path / "out.dup", tmp_path / "tmp"
    lines = _lines(12).splitlines(keepends=True) * 200
    lines.sort(reverse=not in_order)
    cdx.write_bytes(b"".join(lines))
    tmp.mkdir()
    done = _limited_run(4096, cdx, "-o", output, "--tmp", tmp)
    assert done.returncode == 1
    assert b"cannot be written: File too large" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert not output.exists()
    assert list(tmp.iterdir()) == []


def test_a_full_output_is_told(cdx: Path) -> None:
    done = _run(cdx, "-o", "/dev/full")
    assert done.returncode == 1
    assert b"/dev/full cannot be written: No space left" in done.stderr


def test_broken_lines_are_reported_with_their_place(cdx: Path) -> None:
    cdx.write_bytes(_lines() + b"one two\n" * 30)
    done = _run(cdx)
    assert done.returncode == 0
    lines = done.stderr.decode().splitlines()
    assert lines[0].startswith(f"nwx: {cdx}:5: 2 fields")
    assert lines[20] == "nwx: … and 10 more lines that cannot be read"
    assert lines[21] == "4 lines, 1 key, 3 duplicates, 30 that cannot be read"


def test_a_file_without_any_line_that_can_be_read_fails(tmp_path: Path) -> None:
    path = tmp_path / "no.cdx"
    path.write_text("this is no cdx\n")
    assert _run(path).returncode == 1


def test_the_summary_as_text_and_as_json(cdx: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    shown = _run(cdx, "-o", output, "--summary").stdout.decode()
    assert "300 B in the records of these duplicates" in shown
    assert "www.example.org  3" in shown
    found = json.loads(_run(cdx, "-o", output, "--json").stdout)
    assert found["bytes_saved"] == 300
    assert found["by_mime"] == [{"value": "text/html", "duplicates": 3, "bytes": 300}]
    assert json.loads(_run(cdx, "--json").stderr)["duplicates"] == 3


def test_options_reach_the_work(cdx: Path, tmp_path: Path) -> None:
    held = tmp_path / "held.dup"
    held.write_text(f"{URL} sha1:{A} 2020\n")
    assert _run(cdx, "--against", held).stdout.count(b"\n") == 4
    assert b"201501" in _run(cdx, "--keep", "newest").stdout
    assert _run(cdx, "--min-size", "1K").stdout == b""
    assert _run(cdx, "--mime", "IMAGE/*").stdout == b""
    assert _run(cdx, "--not-mime", "text/html").stdout == b""
    other = tmp_path / "other.cdx"
    other.write_text(f"{URL} {A} 2015\n{URL} {A} 2016\n")
    assert _run(other, "--fields", "a k b").stdout == f"2016 {A} {URL}\n".encode()


def test_a_new_crawl_against_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    warc = tmp_path / "first.warc.gz"
    write_warc(warc, many_pages(3))
    run_nwx(archive, "import", warc)
    first = run_nwx(archive, "dump", "captures").json_lines
    again = "".join(
        f"{each['urlkey']} 2030 {each['url']} text/html 200 {each['digest']} - - 5 5 f\n"
        for each in first
    )
    cdx = tmp_path / "second.cdx"
    cdx.write_text(again + _lines(1).decode())
    listed = _run(cdx, "--against", archive).stdout.decode()
    assert listed == "".join(f"2030 {each['digest']} {each['url']}\n" for each in first)


def test_a_new_crawl_against_an_archive_on_elasticsearch(
    tmp_path: Path, elasticsearch_url: str, elasticsearch_prefix: str
) -> None:
    warc = write_warc(tmp_path / "first.warc.gz", many_pages(3))
    more = {"NWX_PREFIX": elasticsearch_prefix}
    run_nwx(elasticsearch_url, "import", warc, **more)
    run_nwx("none", "cdx", "-o", tmp_path / "second.cdx", warc)
    ran = run_nwx(
        "none", "dedup-cdx", "--against", elasticsearch_url, tmp_path / "second.cdx", **more
    )
    captures = run_nwx(elasticsearch_url, "dump", "captures", **more).json_lines
    assert len(captures) == 4
    listed = {tuple(line.split()) for line in ran.out.splitlines()}
    bare = {(c["timestamp"], c["digest"].removeprefix("sha1:"), c["url"]) for c in captures}
    assert listed == bare


def test_an_archive_that_is_away_is_no_empty_one(cdx: Path) -> None:
    done = _run(cdx, "--against", "http://127.0.0.1:9/")
    assert done.returncode == 1
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is nothing to read"),
        (("-", "-"), "can be read only once"),
        (("x", "--fields", "N-b"), "use one letter per field"),
        (("x", "--fields", "Nbm"), "has no field for a URL"),
        (("x", "--memory", "1M"), "use at least 64M"),
        (("x", "--memory", "much"), "is not a size"),
        (("x", "--tmp", "/none"), "is not a folder"),
        (("x", "--key", "url"), "'url+digest'"),
    ],
)
def test_wrong_use_is_told(arguments: tuple[str, ...], message: str) -> None:
    done = _run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr.decode()


def test_a_missing_file_fails() -> None:
    done = _run("/none/at/all.cdx")
    assert done.returncode == 1
    assert done.stderr == b"nwx: /none/at/all.cdx cannot be opened: No such file or directory\n"


def test_revisits(tmp_path: Path) -> None:
    path = tmp_path / "in.cdx"
    path.write_text(
        f"k 2015 {URL} text/html 200 {A} - 5 f\n"
        f"k 2016 {URL} text/html 200 {A} - 5 -\n"
        f"k 2017 {URL} warc/revisit - {B} - 5 f\n"
    )
    done = _run(path, command="revisits")
    assert done.stdout.decode() == f"2016 {A} {URL}\n2017 {B} {URL}\n"
    assert done.stderr == b"3 lines, 2 revisits\n"


@pytest.mark.parametrize("name", ["dedup-cdx", "revisits"])
def test_scripts_run_from_a_checkout(name: str, cdx: Path) -> None:
    script = str(ROOT / "scripts" / name)
    done = subprocess.run(
        [sys.executable, script, str(cdx)], capture_output=True, check=True, cwd="/"
    )
    assert done.stdout.count(b"\n") == (3 if name == "dedup-cdx" else 0)


def test_a_reader_that_stops_is_no_error(cdx: Path) -> None:
    cdx.write_bytes(_lines(12) * 20_000)
    shell = f"{BIN / 'nwx'} dedup-cdx {cdx} | head -1"
    done = subprocess.run(
        ["bash", "-c", shell], env=environment("archive"), capture_output=True, check=True
    )
    assert b"Traceback" not in done.stderr
    assert done.stdout.count(b"\n") == 1
