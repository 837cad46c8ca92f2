"""add-dates and nwx dates, as installed commands."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import COMMAND, Nwx, Ran, environment, run_nwx
from tests.warcs import Page, html, write_warc

ROOT = Path(__file__).parent.parent.parent
ADD_DATES = str(Path(COMMAND).parent / "add-dates")
HOME = Page("http://www.example.org/", "20100101000000", html("Home", "the home page"))
NEWS = Page("http://www.example.org/news", "20110101000000", html("News", "the news page"))
GONE = Page("http://gone.example/", "20010101000000", html("Gone", "never imported"))


def line(page: Page, date: str) -> str:
    return f"{date} {page.digest} {page.url}\n"


def years(ran: Ran) -> list[str]:
    return [date[:4] for hit in ran.json["hits"] for date in hit["dates"]]


@pytest.fixture
def archive(nwx: Nwx, tmp_path: Path) -> Nwx:
    """Runs nwx on an archive of two pages."""
    write_warc(tmp_path / "crawl.warc.gz", [HOME, NEWS])
    nwx("import", "--quiet", "--collection", "web", tmp_path / "crawl.warc.gz")
    return nwx


@pytest.fixture
def dup(tmp_path: Path) -> Path:
    """A list of four dates, and an invalid line."""
    path = tmp_path / "crawl.dup"
    path.write_text(
        line(HOME, "2012") + line(HOME, "2013") + line(NEWS, "2014") + line(GONE, "2002")
    )
    return path


def home(archive: Nwx, *arguments: object) -> list[str]:
    return years(archive("search", "--json", *arguments, "title:home"))


def test_dates_are_added_once(archive: Nwx, dup: Path) -> None:
    report = archive("add-dates", "--collection", "web", "--json", dup).json
    assert report == {
        "lines": 4,
        "keys": 3,
        "dates_new": 4,
        "dates_known": 0,
        "keys_without_document": 1,
        "keys_left_out": 0,
        "dates_purged": 0,
        "not_captures": 0,
        "without_digest": 0,
        "problems_total": 0,
        "problems": [],
    }
    assert home(archive) == ["2010", "2012", "2013"]
    assert home(archive, "--year", "2013", "--collection", "web") == ["2010", "2012", "2013"]
    again = archive("add-dates", "--collection", "web", dup)
    assert again.out == "4 lines, 3 keys, 0 dates new, 4 known, 1 key without a document\n"


def test_dates_before_the_import(nwx: Nwx, dup: Path, tmp_path: Path) -> None:
    nwx("add-dates", dup)
    write_warc(tmp_path / "crawl.warc.gz", [HOME, NEWS])
    nwx("import", tmp_path / "crawl.warc.gz")
    assert home(nwx) == ["2010", "2012", "2013"]
    assert nwx("check").out == "the indices agree\n"


def test_bad_lines_are_reported_with_their_place(archive: Nwx, dup: Path) -> None:
    dup.write_text(dup.read_text() + "nonsense\n2015 - http://www.example.org/\n")
    ran = archive("add-dates", "--json", dup, "-", stdin=b"2015\n" + line(HOME, "2016").encode())
    assert ran.json["problems_total"] == 2
    assert [(one["file"], one["line"]) for one in ran.json["problems"]] == [
        (str(dup), 5),
        ("standard input", 1),
    ]
    assert f"{dup}:5: " in ran.err
    assert ran.json["without_digest"] == 1
    assert home(archive) == ["2010", "2012", "2013", "2016"]


def test_strict_adds_nothing(archive: Nwx, dup: Path) -> None:
    dup.write_text(dup.read_text() + "nonsense\n")
    assert f"{dup}:5" in archive("add-dates", "--strict", dup, code=1).err
    assert home(archive) == ["2010"]
    assert archive("add-dates", "-", stdin=b"nonsense\n", code=1).out.startswith("0 lines")


def test_orphans_are_kept_and_listed(archive: Nwx, dup: Path) -> None:
    archive("add-dates", "--quiet", dup)
    archive("add-dates", "--quiet", "--into", "more", "-", stdin=line(GONE, "2003").encode())
    listed = archive("dates", "orphans").out
    assert listed == line(GONE, "20020101000000") + line(GONE, "20030101000000")
    assert archive("dates", "orphans", "--json").json_lines[0] == {
        "url": GONE.url,
        "digest": GONE.digest,
        "timestamp": "20020101000000",
        "collection": "default",
    }
    again = archive("add-dates", "--json", "-", stdin=listed.encode()).json
    assert (again["dates_new"], again["dates_known"]) == (1, 1)


def test_indices_are_listed_attached_detached_and_dropped(archive: Nwx, dup: Path) -> None:
    archive("add-dates", "--into", "crawl2", dup)
    assert home(archive) == ["2010", "2012", "2013"]
    assert archive("stats", "--json").json["attached"]["crawl2"]["entries"] == 3
    assert "  crawl2 " in archive("stats").out
    archive("dates", "detach", "crawl2")
    assert home(archive) == ["2010"]
    main, other = archive("dates", "list", "--json").json
    assert (main["name"], main["attached"], main["dates"]) == ("main", True, 2)
    assert (other["name"], other["attached"], other["entries"], other["dates"]) == (
        "crawl2",
        False,
        3,
        4,
    )
    archive("dates", "attach", "crawl2")
    assert [one["year"] for one in _years(archive)] == ["2010", "2011", "2012", "2013", "2014"]
    assert archive("check").out == "the indices agree\n"
    dates = archive("dump", "dates").json_lines
    assert sum(one["count"] for one in dates) == 6
    archive("dates", "drop", "crawl2")
    assert "crawl2" not in archive("dates", "list").out
    assert "no dates index" in archive("dates", "attach", "crawl2", code=1).err
    assert archive("dates", "attach", "Bad Name", code=2).err.startswith("nwx: 'Bad Name'")


def _years(archive: Nwx) -> list[dict[str, Any]]:
    found = archive("search", "--json", "--facets", "year", "page").json["facets"]["year"]
    return [{"year": one["value"]} for one in found]


def test_an_index_that_went_away_is_said(archive: Nwx, dup: Path, tmp_path: Path) -> None:
    archive("add-dates", "--build", f"{tmp_path}/other/", dup)
    archive("dates", "attach", "other", tmp_path / "other")
    assert home(archive) == ["2010", "2012", "2013"]
    (tmp_path / "other").rename(tmp_path / "away")
    for command in ("search", "check", "dump"):
        arguments = {"search": ["home"], "check": [], "dump": ["dates"]}[command]
        ran = archive(command, *arguments, code=1)
        assert "nwx dates detach other" in (ran.out if command == "check" else ran.err)
    assert "other" in archive("dates", "list", code=1).out
    archive("dates", "detach", "other")
    assert home(archive) == ["2010"]


def test_an_index_is_built_of_others(archive: Nwx, dup: Path, tmp_path: Path) -> None:
    archive("add-dates", "--into", "crawl2", dup)
    more = tmp_path / "more.dup"
    more.write_text(line(HOME, "2015") + line(HOME, "2013"))
    built = archive("add-dates", "--build", "all", "--from", "main", "--from", "crawl2", more)
    assert built.out == "2 lines, 3 keys, 7 dates in all, 1 key without a document\n"
    archive("dates", "detach", "crawl2")
    archive("dates", "attach", "all")
    assert home(archive) == ["2010", "2012", "2013", "2015"]
    archive("add-dates", "--build", "all", "--documents-only", "--from", "all", more)
    assert home(archive) == ["2010", "2012", "2013", "2015"]
    assert archive("dates", "orphans").out == ""
    assert (
        "use one of them" in archive("add-dates", "--build", "a", "--into", "b", more, code=2).err
    )
    assert "--build" in archive("add-dates", "--from", "all", more, code=2).err
    assert "cannot be rebuilt" in archive("add-dates", "--build", "main", more, code=2).err


def add_dates(*arguments: object, folder: Path, code: int = 0) -> Ran:
    """Run the command by its own name in a folder, without an archive in the environment."""
    done = subprocess.run(
        [ADD_DATES, *map(str, arguments)],
        cwd=folder,
        env=environment(folder / "nothing"),
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_form_of_nutchwax(archive: Nwx, dup: Path, tmp_path: Path) -> None:
    archive("add-dates", "--into", "old", dup)
    (tmp_path / "new.dup").write_text(line(HOME, "2020") + line(GONE, "2021"))
    ran = add_dates("archive", "archive", "archive/dates/old", "new", "new.dup", folder=tmp_path)
    assert ran.out == "2 lines, 3 keys, 8 dates in new, 1 key without a document\n"
    archive("dates", "detach", "old")
    assert home(archive) == ["2010"]
    archive("dates", "attach", "new")
    assert home(archive) == ["2010", "2012", "2013", "2020"]
    ran = add_dates("archive", "elsewhere/", "new.dup", folder=tmp_path)
    assert ran.out == "2 lines, 2 keys, 2 dates in elsewhere/, 1 key without a document\n"
    assert (tmp_path / "elsewhere" / "dates.json").exists()
    ran = add_dates("archive", "new.dup", folder=tmp_path, code=2)
    assert "KEY-INDEX [SOURCE-INDEX]... DEST-INDEX LIST" in ran.err
    ran = add_dates("archive", "nowhere", "new", "new.dup", folder=tmp_path, code=1)
    assert "nowhere" in ran.err
    assert home(archive) == ["2010", "2012", "2013", "2020"]


def test_the_script_of_a_checkout(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "add-dates"
    done = subprocess.run(
        [sys.executable, str(script), "--help"], capture_output=True, timeout=60, check=True
    )
    assert b"The syntax of NutchWAX" in b" ".join(done.stdout.split())


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment variables that point to a separate archive."""
    if request.param == "embedded":
        yield {"NWX_ENGINE": str(tmp_path / "both")}
    else:
        address = request.getfixturevalue("elasticsearch_url")
        prefix = request.getfixturevalue("elasticsearch_prefix")
        yield {"NWX_ENGINE": address, "NWX_PREFIX": prefix}


ENGINES = pytest.mark.parametrize(
    ("engine", "into"), [("embedded", "named"), ("elastic", "main")], indirect=["engine"]
)


@ENGINES
def test_two_at_once_lose_nothing(engine: dict[str, str], into: str, tmp_path: Path) -> None:
    """Both add different dates of the same keys, and some equal dates."""
    where = engine.pop("NWX_ENGINE")
    run_nwx(where, "add-dates", "-", stdin=line(GONE, "1999").encode(), **engine)
    lists = [tmp_path / "first.dup", tmp_path / "second.dup"]
    keys, own, shared = 400, 15, 5
    for number, path in enumerate(lists):
        days = [*range(number * own, (number + 1) * own), *range(2 * own, 2 * own + shared)]
        text = [
            f"2010{day // 28 + 1:02}{day % 28 + 1:02} {HOME.digest} http://a.org/{key}\n"
            for key in range(keys)
            for day in days
        ]
        path.write_text("".join(text))
    both = [
        subprocess.Popen(
            [ADD_DATES, "--json", "--into", into, path],
            env=environment(where, **engine),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for path in lists
    ]
    ended = [(*one.communicate(timeout=300), one.returncode) for one in both]
    assert [code for _, _, code in ended] == [0, 0], ended
    new = [Ran(0, out.decode(), "").json["dates_new"] for out, _, _ in ended]
    assert sum(new) == keys * (2 * own + shared)
    held = run_nwx(where, "dump", "dates", **engine).json_lines
    counts = {one["key"]: one["count"] for one in held if one["key"].startswith("http://a.org/")}
    assert len(counts) == keys
    assert set(counts.values()) == {2 * own + shared}


KILLED = """
import os, signal, sys, threading
from nwx.cli.main import main
from nwx.dedup import added_dates

# dates are added in as many steps as those of a long list
added_dates.HELD_BYTES, added_dates.AT_ONCE = 400_000, 1_000
step, seconds = int(sys.argv[1]), float(sys.argv[2])
read_dates = added_dates.read_dates

def killed_on_the_way(*arguments, **options):
    for number, stretch in enumerate(read_dates(*arguments, **options)):
        if number == step:
            kill = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
            kill.start()
        if number == step + 3:  # where the timer comes late
            os.kill(os.getpid(), signal.SIGKILL)
        yield stretch

added_dates.read_dates = killed_on_the_way
sys.argv = ["add-dates", *sys.argv[3:]]
main()
"""


@ENGINES
def test_what_was_killed_is_added_when_it_is_run_again(
    engine: dict[str, str], into: str, tmp_path: Path
) -> None:
    where = engine.pop("NWX_ENGINE")
    keys, days = 2_000, 5
    path = tmp_path / "list.dup"
    path.write_text(
        "".join(
            f"201001{day + 10} {HOME.digest} http://a.org/{key}\n"
            for key in range(keys)
            for day in range(days)
        )
    )
    for step, seconds in ((0, 0.0), (2, 0.005), (5, 0.01)):
        process = subprocess.run(
            [sys.executable, "-c", KILLED, str(step), str(seconds), "--into", into, path],
            env=environment(where, **engine),
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert process.returncode == -signal.SIGKILL, process.stderr
    rest = run_nwx(where, "add-dates", "--json", "--into", into, path, **engine).json
    assert 0 < rest["dates_new"] < keys * days
    again = run_nwx(where, "add-dates", "--json", "--into", into, path, **engine).json
    assert (again["dates_new"], again["dates_known"]) == (0, keys * days)
    held = run_nwx(where, "dump", "dates", **engine).json_lines
    assert [one["count"] for one in held] == [days] * keys
    run_nwx(where, "check", **engine)
