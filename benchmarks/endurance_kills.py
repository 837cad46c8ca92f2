"""Commands and servers killed at random moments; results must equal those of undisturbed ones."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

from benchmarks.process_family import family_pids
from tests.cli.command_server import CHECKOUT, COMMAND
from tests.cli.conftest import environment, run_nwx
from tests.unit.quality.monitor.made_crawls import BEGIN, healthy
from tests.warcs import Page, many_pages, write_warc

SAMPLE = CHECKOUT / "sample" / "archive"
_WAIT_SECONDS = 180
TOKEN = "secret"
_NOTES = ".nwx-"
"""Prefix of files with timestamps, in which commands record their progress."""

_WRITTEN = ("documents", "dates", "captures", "files")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_CHANGING = re.compile(rb'"(?:took_ms|computed_ms|seconds)": ?[\d.]+')
_QUESTIONS = (
    "/health",
    "/api/search?q=lantern",
    "/cdx?url=*.lantern.example&limit=50",
    "/?q=storm",
)
_YEAR = re.compile(r" \d{4}(?=\d{10} )")
_TIMES = ("leased_until", "number", "seconds", "time", "seen", "at", "began")


@dataclass(frozen=True, slots=True)
class Work:
    """Commands on a copy of an archive, and their output: indices, and files below a folder."""

    archive: str
    commands: tuple[tuple[object, ...], ...]
    indices: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class KilledWork:
    """All works, their inputs in a folder, and their results if undisturbed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._results: dict[str, tuple[Any, list[float]]] = {}
        self._inputs()
        self.works = self._works()

    def _inputs(self) -> None:
        """Make the input files and archives for all rounds."""
        folder = self._folder
        made = [
            write_warc(folder / f"{number}.warc.gz", many_pages(120, start=number * 80))
            for number in range(4)
        ]
        self.files = [*sorted(SAMPLE.iterdir()), *made]
        self.warcs = [path for path in self.files if ".warc" in path.name]
        run_nwx("none", "cdx", "-o", folder / "all.cdx", *self.files)
        lines = (folder / "all.cdx").read_text()
        for year in range(1996, 2006):
            (folder / f"more-{year}.cdx").write_text(_YEAR.sub(f" {year}", lines))
        run_nwx("none", "dedup-cdx", "--quiet", "-o", folder / "list", folder / "all.cdx")
        (folder / "urls").write_text(
            "".join(f"http://h{n % 50}.example/{n}\n" for n in range(8_000))
        )
        (folder / "crawl.log").write_text("".join(healthy(0, BEGIN)))
        late, self._earlier = (
            [write_warc(folder / f"{year}-{n}.warc.gz", _dated(year, n * 80)) for n in range(4)]
            for year in ("2016", "2014")
        )
        run_nwx(folder / "late", "import", *late)
        run_nwx(folder / "half", "import", *self.files[::2])
        run_nwx(folder / "full", "import", *self.files)

    def _works(self) -> dict[str, Work]:
        folder = self._folder
        lines = sorted(folder.glob("more-*.cdx"))
        built = (
            ("build-facets", "--min-captures", 1),
            ("invert-links", "--workers", 2),
            ("build-pictures", "--workers", 2),
        )
        rewritten = (
            ("dedup-cdx", "--jobs", 2, "-o", "duplicates", folder / "all.cdx", *lines),
            ("dedup-warc", "-e", folder / "list", "-o", "rewritten", *self.warcs),
            ("zipnum", "build", "--lines", 300, "--shards", 3, "cluster", *lines),
            ("cdx", "--jobs", 2, "-o", "index", *self.files),
        )
        listed = ("import", "--jobs", 2, "-e", folder / "list")
        monitored = ("monitor", "crawl", "--crawl-log", folder / "crawl.log", "--once", "--json")
        names = ("duplicates", "rewritten", "cluster", "index")
        return {
            "import": Work("", (("import", "--jobs", 2, *self.files),), _WRITTEN),
            "import earlier": Work("late", (("import", "--jobs", 2, *self._earlier),), _WRITTEN),
            "import -e": Work("", ((*listed, *self.files),), _WRITTEN),
            "import --digests": Work(
                "",
                (("import", "--digests", "sha256", "--jobs", 2, *self.files),),
                (*_WRITTEN, "digests"),
            ),
            "add-digests": Work("full", (("add-digests",),), ("digests",)),
            "add-dates": Work("half", (("add-dates", *lines),), ("dates",)),
            "build": Work("full", built, ("facets", "inlinks", "pictures")),
            "dedup": Work("", rewritten, files=names),
            "cdx-load": Work("half", (("cdx-load", *lines),), ("captures",)),
            "cdx-load --at-once": Work(
                "half", (("cdx-load", "--at-once", 100, *lines),), ("captures",)
            ),
            "queue add": Work("half", (("queue", "add", "--file", folder / "urls"),), ("queue",)),
            "takedown": Work(
                "full", (("takedown", "--purge", "*.lantern.example"),), (*_WRITTEN, "access")
            ),
            "monitor": Work("full", (monitored,), ("quality",)),
        }

    def result(self, name: str) -> tuple[Any, list[float]]:
        """Return the result of a work if undisturbed, and the seconds of its commands."""
        if name not in self._results:
            place, seconds = self._folder / "calm", []
            self.begin(self.works[name], place)
            for command in self.works[name].commands:
                began = time.monotonic()
                finished(place, command)
                seconds.append(time.monotonic() - began)
            self._results[name] = _written(self.works[name], place), seconds
            shutil.rmtree(place)
        return self._results[name]

    def begin(self, work: Work, place: Path) -> None:
        """Make the folder for a work."""
        place.mkdir(exist_ok=True)
        if work.archive:
            shutil.copytree(self._folder / work.archive, place / "archive")

    def round(self, seed: int, place: Path) -> Counter[str]:
        """Do a work that is killed several times; return counts of events by name.

        Raises AssertionError if its result differs from that of undisturbed work.
        """
        chance = random.Random(seed)
        name = chance.choice([*self.works, "serve", "queue"])
        if name in ("serve", "queue"):
            return _served_round(chance, name, self._folder / "full", place)
        work, (expected, seconds) = self.works[name], self.result(name)
        self.begin(work, place)
        counts: Counter[str] = Counter()
        for command, took in zip(work.commands, seconds, strict=True):
            for _ in range(chance.randint(4, 10)):
                how = chance.choice(("command", "command", "all", "child"))
                met = killed_once(place, command, how, chance.random() * took) is None
                counts[f"kills of {name}"] += met
                counts["kills"] += met
                if work.indices and (place / "archive" / "nwx.json").exists():
                    ran = run_nwx(place / "archive", "check", code=None)
                    assert not ran.code or "its purge was stopped" in ran.out, (name, ran.out)
            finished(place, command)
        found = _written(work, place)
        assert found == expected, f"{name}: {_difference(found, expected)}"
        if work.indices:
            run_nwx(place / "archive", "check")
        return counts


def _dated(year: str, start: int) -> list[Page]:
    """Return pages with the same texts in every year."""
    pages = many_pages(120, start=start)
    return [replace(page, timestamp=year + page.timestamp[4:]) for page in pages]


def finished(place: Path, command: Sequence[object]) -> None:
    """Run a command to its end; it must succeed."""
    ran = started(place, command)
    _, err = ran.communicate(timeout=_WAIT_SECONDS)
    assert ran.returncode == 0, f"{command}: code {ran.returncode}: {err.decode()[-3000:]}"


def started(place: Path, command: Sequence[object]) -> "subprocess.Popen[bytes]":
    """Start a command on the archive of a folder, in a separate process group."""
    (place / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [COMMAND, *map(str, command)],
        cwd=place,
        env=environment(
            place / "archive",
            PYTHONPATH=str(CHECKOUT),
            PYTHONWARNINGS="default",
            PYTHONUNBUFFERED="1",
            TMPDIR=str(place / "tmp"),
            NWX_QUEUE_TOKEN=TOKEN,
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def killed_once(place: Path, command: Sequence[object], how: str, after: float) -> int | None:
    """Run a command and kill it, or one of its processes, after `after` seconds.

    Returns its exit code if it ended earlier, else None.
    """
    if "--once" in command:
        command = [part for part in command if part != "--once"] + ["--interval", 0.1]
    process = started(place, command)
    try:
        process.communicate(timeout=after)
        return process.returncode
    except subprocess.TimeoutExpired:
        pass
    children = [pid for pid in list(family_pids(process.pid))[1:] if not _is_tracker(pid)]
    if how == "child" and children:
        with suppress(ProcessLookupError):
            os.kill(children[int(after * 1e6) % len(children)], signal.SIGKILL)
        if "--interval" in command:
            process.kill()
    elif how == "all":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    try:
        _, err = process.communicate(timeout=_WAIT_SECONDS)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(f"{command}, killed: {how}: does not end") from error
    # Python reports if the process dies from which it is just starting another one.
    assert b"Traceback" not in err or b"multiprocessing/spawn" in err, (
        f"{command}, killed: {how}: {err.decode()[-3000:]}"
    )
    wait_for_end(process.pid)
    return None


def _is_tracker(pid: int) -> bool:
    """Return whether a process is Python's resource tracker, which only cleans up semaphores."""
    try:
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def wait_for_end(group: int) -> None:
    """Wait until all processes of a group have ended."""
    end = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    raise AssertionError("processes outlive the command")


def _written(work: Work, place: Path) -> dict[str, Any]:
    """Return the output of a work, without timestamps."""
    found: dict[str, Any] = {}
    for index in work.indices:
        lines = run_nwx(place / "archive", "dump", index).json_lines
        found[index] = [_without_times(line) for line in lines]
    for name in work.files:
        paths = [place / name] if (place / name).is_file() else sorted((place / name).rglob("*"))
        paths = [path for path in paths if path.is_file() and not path.name.startswith(_NOTES)]
        found |= {str(path.relative_to(place)): path.read_bytes() for path in paths}
    return found


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(one) for name, one in value.items() if name not in _TIMES}
    return [_without_times(one) for one in value] if isinstance(value, list) else value


def _difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    for name in sorted({*found, *expected}):
        one, other = found.get(name, []), expected.get(name, [])
        if one != other:
            more = [str(item)[:300] for item in one if item not in other][:3]
            less = [str(item)[:300] for item in other if item not in one][:3]
            return f"{name}: {len(one)} and {len(other)}; too much {more}; missing {less}"
    return "none"


def ask_server(address: str, path: str, data: bytes | None = None) -> bytes:
    """Return an answer without values that differ each time."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with _OPENER.open(urllib.request.Request(address + path, data, headers), timeout=60) as answer:
        found: bytes = answer.read()
    return _CHANGING.sub(b"", found)


def _served_round(chance: random.Random, name: str, archive: Path, place: Path) -> Counter[str]:
    """Kill workers of a server during requests of clients; return counts."""
    place.mkdir(exist_ok=True)
    shutil.copytree(archive, place / "archive")
    options = ["--port", 0, "--workers", 2, *["--no-replay"] * (name == "serve")]
    process = started(place, (name, *options))
    assert process.stdout is not None
    found = re.search(rb"http://[^/\s]+", process.stdout.readline())
    assert found
    clients = _Clients(name, found[0].decode())
    counts = clients.counts
    with clients.asking():
        for _ in range(chance.randint(8, 16)):
            time.sleep(chance.uniform(0, 1.5))
            if workers := list(family_pids(process.pid))[1:]:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(workers), signal.SIGKILL)
                    counts["kills"] += 1
                    counts[f"kills of {name}"] += 1
    clients.check()
    workers = list(family_pids(process.pid))[1:]
    process.send_signal(chance.choice((signal.SIGTERM, signal.SIGKILL)))
    _, err = process.communicate(timeout=_WAIT_SECONDS)
    assert b"Traceback" not in err, err.decode()[-3000:]
    end = time.monotonic() + _WAIT_SECONDS
    while any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers):
        assert time.monotonic() < end, "workers outlive the server"
        time.sleep(0.05)
    if name == "queue":
        stored = {line["url"] for line in run_nwx(place / "archive", "dump", "queue").json_lines}
        assert clients.acknowledged <= stored, "what was acknowledged is not in the queue"
    run_nwx(place / "archive", "check")
    return counts


class _Clients:
    """Clients that send requests until the end, each over a new connection."""

    def __init__(self, name: str, address: str) -> None:
        self.counts: Counter[str] = Counter()
        self.acknowledged: set[str] = set()
        self._address, self._asks_queue = address, name == "queue"
        self._wrong: list[str] = []
        self._ended = threading.Event()
        questions = ("/health",) if self._asks_queue else _QUESTIONS
        self._expected = {path: ask_server(address, path) for path in questions}

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Send requests from four threads during the block."""
        threads = [threading.Thread(target=self._go_on, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        yield
        self._ended.set()
        for thread in threads:
            thread.join()

    def check(self) -> None:
        """Raise AssertionError if an answer is or was wrong."""
        for path, expected in self._expected.items():
            assert ask_server(self._address, path) == expected, path
        assert not self._wrong, self._wrong[:5]

    def _go_on(self, number: int) -> None:
        questions: list[Callable[[int], None]] = [self._read]
        if self._asks_queue:
            questions.append(self._post)
        turn = 0
        while not self._ended.is_set():
            turn += 1
            try:
                questions[turn % len(questions)](number * 1_000_000 + turn)
            except urllib.error.HTTPError as error:
                self._wrong.append(f"{error.code}: {error.read()[:300]!r}")
            except TimeoutError as error:
                self._wrong.append(f"no answer: {error}")
            except (OSError, HTTPException):
                self.counts["broken connections"] += 1
            self.counts["requests"] += 1

    def _read(self, number: int) -> None:
        path = sorted(self._expected)[number % len(self._expected)]
        answer = ask_server(self._address, path)
        if answer != self._expected[path]:
            self._wrong.append(f"{path}: {answer[:300]!r}")

    def _post(self, number: int) -> None:
        urls = [f"http://h{number % 9}.example/{number}/{n}" for n in range(20)]
        ask_server(
            self._address, "/urls", json.dumps([{"url": u, "priority": 0.5} for u in urls]).encode()
        )
        self.acknowledged.update(urls)
