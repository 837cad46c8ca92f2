"""The real warcprox as a process."""

import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.environments import WARCPROX, prepare

_LISTENING = re.compile(rb"listening on 127\.0\.0\.1:(\d+)")
_SECONDS = 60


@contextmanager
def warcprox(folder: Path, *options: str, failing_hosts: bool = False) -> Iterator[str]:
    """Run warcprox and yield the address of the proxy; afterwards all its output is in `folder`.

    It logs a traceback for each host that it cannot reach, and must log no other; with
    `failing_hosts`, tracebacks are ignored.
    """
    state = Path(tempfile.mkdtemp(prefix="warcprox-", dir=folder.parent))
    log = state / "log"
    command = [str(prepare(WARCPROX)), "-m", "warcprox.main", "-b", "127.0.0.1", "-p", "0", "-z"]
    command += ["-d", str(folder), "--stats-db-file", "/dev/null", "-c", "ca.pem", *options]
    with (
        log.open("wb") as stream,
        subprocess.Popen(command, cwd=state, stdout=stream, stderr=stream) as process,
    ):
        try:
            yield f"http://127.0.0.1:{_port(process, log)}"
            process.send_signal(signal.SIGTERM)
            process.wait(_SECONDS)
        finally:
            process.kill()
    assert failing_hosts or b"Traceback" not in log.read_bytes(), log.read_text()


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        found = _LISTENING.search(log.read_bytes())
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError(f"warcprox does not listen: {log.read_text()}")
