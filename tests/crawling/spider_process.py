"""The real Scrapy as a process that runs the spider of topic_spider.py."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.environments import prepare

_ROOT = Path(__file__).parent.parent.parent
_SPIDER = Path(__file__).parent / "topic_spider.py"
_SECONDS = 60


@contextmanager
def running_spider(
    version: str, seeds: Sequence[str], folder: Path, proxy: str = "", **settings: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a spider during the block, and end it cleanly unless it was killed."""
    command = [str(prepare(version)), "-m", "scrapy", "runspider", str(_SPIDER)]
    command += ["-a", f"seeds={' '.join(seeds)}"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    log = folder / "scrapy.log"
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    proxies = {"http_proxy": proxy} if proxy else {}
    with (
        log.open("ab") as stream,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**kept, **proxies, "PYTHONPATH": str(_ROOT)},
            stdout=stream,
            stderr=stream,
        ) as process,
    ):
        try:
            yield process
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(_SECONDS)
        finally:
            process.kill()
    said = log.read_text(errors="replace")
    assert "Traceback" not in said, said[-5000:]
