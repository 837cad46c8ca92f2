"""The real Heritrix as a process."""

import re
import shutil
import signal
import socket
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests
from requests.auth import HTTPDigestAuth
from urllib3.exceptions import InsecureRequestWarning

from tests.crawling.heritrix.distribution import prepare
from tests.elasticsearch.jdk import find_jdk

_USER, _PASSWORD = "tests", "only-on-loopback"
_SECONDS = 240
_STATUS = re.compile(r"<crawlControllerState>(\w+)<")
_PROFILE = {
    "metadata.operatorContactUrl": "http://crawls.example/",
    "crawlController.pauseAtStart": "false",
    "disposition.delayFactor": "0",
    "disposition.minDelayMs": "0",
    "disposition.maxDelayMs": "0",
    "crawlController.maxToeThreads": "4",
}
"""Settings of test jobs that differ from the profile shipped with Heritrix."""


@dataclass(slots=True)
class Heritrix:
    """A Heritrix with its jobs; it can be killed and restarted."""

    folder: Path
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None
    session: requests.Session = field(default_factory=requests.Session)

    @property
    def jobs(self) -> Path:
        """The folder of the jobs."""
        return self.folder / "jobs"

    def start(self) -> None:
        """Start Heritrix and wait until it answers."""
        self.jobs.mkdir(exist_ok=True)
        self.port = _free_port()
        self.session.auth = HTTPDigestAuth(_USER, _PASSWORD)
        self.session.trust_env = False
        java = str(find_jdk() / "bin" / "java")
        command = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += ["-cp", f"{prepare()}/*", "org.archive.crawler.Heritrix"]
        command += ["-a", f"{_USER}:{_PASSWORD}", "-b", "127.0.0.1", "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "-j", str(self.jobs)], cwd=self.folder, stdout=log, stderr=log
            )
        wait_until(self._answers, "Heritrix answers")

    def kill(self) -> None:
        """Kill Heritrix immediately."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(_SECONDS)
            self.process = None

    def make_job(self, name: str, seeds: list[str], **settings: str) -> "HeritrixJob":
        """Create a job from the profile, with additional settings by path (`a__b` is a.b)."""
        self.ask("", createpath=name, action="create")
        given = {path.replace("__", "."): value for path, value in settings.items()}
        lines = "".join(f"{path}={value}\n" for path, value in (_PROFILE | given).items())
        beans = self.jobs / name / "crawler-beans.cxml"
        text = beans.read_text(encoding="utf-8")
        text = re.sub(r"metadata\.operatorContactUrl=.*\n", lambda _: lines, text, count=1)
        text = text.replace("http://example.example/example", "\n".join(seeds))
        beans.write_text(text, encoding="utf-8")
        return HeritrixJob(self, name)

    def ask(self, path: str, **form: str) -> str:
        """Return the response to a form, or to a GET request without one."""
        url = f"https://127.0.0.1:{self.port}/engine{path}"
        with warnings.catch_warnings():
            # It has a self-signed certificate.
            warnings.simplefilter("ignore", InsecureRequestWarning)
            answer = self.session.request(
                "POST" if form else "GET",
                url,
                data=form or None,
                headers={"Accept": "application/xml"},
                verify=False,
                timeout=_SECONDS,
            )
        answer.raise_for_status()
        return answer.text

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "log").read_text(errors="replace")
        try:
            self.ask("")
        except requests.ConnectionError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class HeritrixJob:
    """A job of a running Heritrix."""

    heritrix: Heritrix
    name: str

    @property
    def folder(self) -> Path:
        """The folder of the job."""
        return self.heritrix.jobs / self.name

    @property
    def state(self) -> str:
        """The state of its controller: RUNNING, EMPTY, FINISHED, or "" if it is not launched."""
        found = _STATUS.search(self.heritrix.ask(f"/job/{self.name}"))
        return found[1] if found else ""

    def launch(self) -> None:
        """Run the job from the beginning."""
        self.heritrix.ask(f"/job/{self.name}", action="build")
        self.heritrix.ask(f"/job/{self.name}", action="launch")
        wait_until(lambda: self.state in ("RUNNING", "EMPTY"), f"job {self.name} runs")

    def end(self) -> None:
        """End the job, so that its files are closed."""
        self.heritrix.ask(f"/job/{self.name}", action="terminate")
        wait_until(lambda: self.state in ("", "FINISHED"), f"job {self.name} ends")
        self.heritrix.ask(f"/job/{self.name}", action="teardown")


@contextmanager
def running_heritrix(folder: Path) -> Iterator[Heritrix]:
    """Yield a running Heritrix; at the end, delete the data of its jobs."""
    heritrix = Heritrix(folder)
    try:
        heritrix.start()
        yield heritrix
    finally:
        heritrix.kill()
        heritrix.session.close()
        shutil.rmtree(heritrix.jobs, ignore_errors=True)


def wait_until(holds: Callable[[], bool], what: str, seconds: float = _SECONDS) -> None:
    """Return as soon as a condition holds; raise AssertionError if it takes too long."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"waited {seconds:g} s until {what}"
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
