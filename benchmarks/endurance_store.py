"""Loads, POSTs, imports and backups of one archive, killed while others write and read.

After each kill, every load and POST is stored completely or not at all, all acknowledged captures
are stored, indices agree, and each backup with its final name is a complete archive with all
captures acknowledged before it.
"""

import random
import re
import shutil
import signal
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from itertools import count, takewhile
from pathlib import Path

from benchmarks.endurance_kills import (
    TOKEN,
    ask_server,
    finished,
    killed_once,
    started,
    wait_for_end,
)
from nwx.engine.base import open_engine
from nwx.engine.capture_index import CdxSpan
from nwx.maintenance.agreement import check
from nwx.settings import Settings
from tests.warcs import many_pages, write_warc

_KILLS = 10
_KINDS = ("load", "import", "backup", "POST")
_LOADED, _POSTED = (1, 3_000, 40_000), (1, 200, 2_000)
_SIZE = re.compile(r"-(\d+)\.warc\.gz")
_LETTERS = str.maketrans("0123456789", "ABCDEFGHIJ")
_LEAST_SECONDS = 0.1
"""Commands are killed after at least this time, and before their last run time has passed."""


class KilledStore:
    """Rounds of kills, each with a new archive."""

    def round(self, seed: int, place: Path) -> Counter[str]:
        """Kill writers of an archive several times; return counts of events by name.

        Raises AssertionError if acknowledged captures are lost, or partial writes are visible.
        """
        return _Round(random.Random(seed), place).run()


class _Round:
    def __init__(self, chance: random.Random, place: Path) -> None:
        self._chance, self._place = chance, place
        self._counts: Counter[str] = Counter()
        self._known: dict[str, int] = {}
        """The number of acknowledged captures of each file."""
        self._before: dict[str, set[str]] = {}
        """The files acknowledged before each backup."""
        self._took: dict[str, float] = {}

    def run(self) -> Counter[str]:
        place, poster = self._place, _Poster(self._place, self._chance.randrange(1 << 30))
        finished(place, ("cdx-load", _lines(place / "first.cdx", "first-1.warc.gz", 1)))
        (place / "backups").mkdir()
        with poster.posting():
            for number in takewhile(lambda _: self._counts["kills"] < _KILLS, count()):
                what = _KINDS[number % len(_KINDS)]
                if what == "POST":
                    time.sleep(self._chance.random())
                    met = poster.kill()
                else:
                    met = getattr(self, f"_{what}")(number)
                self._counts[f"kills of {what}"] += met
                self._counts["kills"] += met
                with poster.pause():
                    self._check(place / "archive", {*self._known, *poster.acknowledged})
                    self._check_backups()
        self._end()
        return self._counts + Counter(POSTs=len(poster.acknowledged))

    def _load(self, number: int) -> bool:
        size = self._chance.choice(_LOADED)
        name = f"loaded{number}-{size}.warc.gz"
        command = ("cdx-load", _lines(self._place / f"{number}.cdx", name, size))
        return self._disturbed(command, name, size)

    def _import(self, number: int) -> bool:
        pages = many_pages(150, start=1000 * number)
        name = f"imported{number}-{len(pages)}.warc.gz"
        path = write_warc(self._place / name, pages)
        return self._disturbed(("import", "--jobs", 1, path), name, len(pages))

    def _backup(self, _: int) -> bool:
        names, known = self._backups(), set(self._known)
        met = self._disturbed(("backup", "--quiet", self._place / "backups"), "", 0)
        self._before |= dict.fromkeys(self._backups() - names, known)
        return met

    def _disturbed(self, command: tuple[object, ...], name: str, size: int) -> bool:
        """Run a command that may be killed; if it succeeds, its captures are acknowledged."""
        kind, how = str(command[0]), self._chance.choice(("command", "all"))
        after = self._chance.uniform(_LEAST_SECONDS, self._took.get(kind, 1.0))
        began = time.monotonic()
        code = killed_once(self._place, command, how, after)
        if code is not None:  # 1 if another writer blocked it
            self._took[kind] = time.monotonic() - began
        if code == 0 and size:
            self._known[name] = size
        return code is None

    def _backups(self) -> set[str]:
        found = (self._place / "backups").glob("*/nwx.json")
        return {one.parent.name for one in found if re.fullmatch(r"[\d-]+", one.parent.name)}

    def _check_backups(self) -> None:
        for name in self._backups():
            self._check(self._place / "backups" / name, self._before.get(name, set()))
            shutil.rmtree(self._place / "backups" / name)
            self._counts["backups checked"] += 1

    @staticmethod
    def _check(archive: Path, acknowledged: set[str]) -> None:
        found = _captures(archive)
        assert acknowledged <= found.keys(), f"lost: {sorted(acknowledged - found.keys())}"
        for name, number in found.items():
            size = _SIZE.search(name)
            assert size, name
            # Imported records are visible at once: the ledger has the progress.
            is_whole = number == int(size[1]) or name.startswith("imported")
            assert is_whole and number <= int(size[1]), f"{number} captures of {name}"
        with open_engine(Settings(engine=str(archive)), read_only=True) as engine:
            faults = [str(one) for one in check(engine)]
        assert not faults, faults[:5]

    def _end(self) -> None:
        """Repeat all killed imports, make a backup, restore it, and compare."""
        files = sorted(self._place.glob("imported*"))
        if files:
            finished(self._place, ("import", "--jobs", 1, *files))
        finished(self._place, ("backup", "--quiet", self._place / "backups"))
        (name,) = self._backups()
        restored = self._place / "restored"
        finished(self._place, ("restore", "--quiet", self._place / "backups" / name, restored))
        found = _captures(self._place / "archive")
        assert found == _captures(restored), "the restored archive has other captures"
        assert all(found[one.name] == int(one.name[:-8].split("-")[1]) for one in files), found


def _lines(path: Path, file: str, number: int) -> Path:
    """Write CDX lines of captures in a single file."""
    path.write_bytes(_text(file, number))
    return path


def _text(file: str, number: int) -> bytes:
    lines = [
        f"- 20200102030405 http://h{n % 7}.example/{file}/{n} text/html 200"
        f" {f'{n:032}'.translate(_LETTERS)} - - 9 {n} {file}\n"
        for n in range(number)
    ]
    return "".join(lines).encode()


def _captures(archive: Path) -> Counter[str]:
    """Return the number of captures of each file."""
    with open_engine(Settings(engine=str(archive)), read_only=True) as engine:
        return Counter(row.filename for row in engine.cdx_rows(CdxSpan("", "\U0010ffff")))


class _Poster:
    """A CDX server, and a client that sends captures to it until the end."""

    def __init__(self, place: Path, seed: int) -> None:
        self._place, self._chance = place, random.Random(seed)
        self.acknowledged: set[str] = set()
        self._wrong: list[str] = []
        self._sending, self._ended = threading.Lock(), threading.Event()

    @contextmanager
    def posting(self) -> Iterator[None]:
        """Send captures during the block."""
        self._start()
        thread = threading.Thread(target=self._go_on)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            self._process.send_signal(signal.SIGTERM)
            self._process.communicate(timeout=60)
        assert not self._wrong, self._wrong[:5]

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Wait for the answer to the current request, and send nothing during the block."""
        with self._sending:
            yield

    def kill(self) -> bool:
        """Kill the server with all its workers at any moment, and start another one."""
        self._process.kill()
        self._process.communicate(timeout=60)
        wait_for_end(self._process.pid)
        self._start()
        return True

    def _start(self) -> None:
        options = ("--port", 0, "--workers", 2, "--cdx-token", TOKEN)
        self._process = started(self._place, ("cdx-server", *options))
        assert self._process.stdout is not None
        found = re.search(rb"http://[^/\s]+", self._process.stdout.readline())
        assert found, self._process.stderr and self._process.stderr.read()
        self._address = found[0].decode()

    def _go_on(self) -> None:
        number = 0
        while not self._ended.is_set():
            number += 1
            size = self._chance.choice(_POSTED)
            name = f"posted{number}-{size}.warc.gz"
            with self._sending:
                try:
                    ask_server(self._address, "/posted", _text(name, size))
                    self.acknowledged.add(name)
                except urllib.error.HTTPError as error:
                    if error.code != 503:  # another process is writing for long
                        self._wrong.append(f"{error.code}: {error.read()[:300]!r}")
                except (OSError, HTTPException):
                    time.sleep(0.1)  # the server was killed
            time.sleep(0.02)
