"""Alerts sent in order to a webhook or a command; the monitor never waits for them."""

import json
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import requests

from nwx.errors import NwxError
from nwx.quality.monitor.report import Alert

_CONNECT_SECONDS, _ANSWER_SECONDS = 5, 10
_COMMAND_SECONDS = 30.0
_PAUSES = (1.0, 5.0, 30.0, 120.0)
_MOST_WAITING = 1_000
_ENDING_SECONDS = 2.0
_MOST_MESSAGE = 200


class NoticeError(NwxError):
    """An alert could not be delivered this time."""


class Channel(Protocol):
    """A receiver of alerts."""

    def tell(self, notice: dict[str, Any]) -> None:
        """Send an alert; raises NoticeError if it was not accepted."""


class Webhook:
    """An address that takes alerts as JSON by POST."""

    def __init__(self, address: str) -> None:
        self.address = address

    def tell(self, notice: dict[str, Any]) -> None:
        """Post an alert; any status from 200 to 299 means that it was taken."""
        session = requests.Session()
        session.trust_env = False
        try:
            with session.post(
                self.address,
                json=notice,
                timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS),
                allow_redirects=False,
                stream=True,
            ) as answer:
                if not 200 <= answer.status_code < 300:
                    raise NoticeError(f"the webhook answers {answer.status_code}")
        # urllib3 has a ValueError of its own for some names of hosts.
        except (requests.RequestException, OSError, ValueError) as error:
            raise NoticeError(f"the webhook does not answer: {type(error).__name__}") from error
        finally:
            session.close()


class AlertCommand:
    """A program that gets alerts as JSON on its standard input; no shell reads its arguments."""

    def __init__(self, arguments: Sequence[str], seconds: float = _COMMAND_SECONDS) -> None:
        self._arguments, self._seconds = list(arguments), seconds

    def tell(self, notice: dict[str, Any]) -> None:
        """Run the program, for a limited time; 0 means that it took the alert."""
        name = self._arguments[0]
        try:
            done = subprocess.run(
                self._arguments,
                input=json.dumps(notice).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NoticeError(f"{name} took longer than {self._seconds:g} s") from error
        except OSError as error:
            raise NoticeError(f"{name} cannot be run: {error.strerror}") from error
        if done.returncode:
            raise NoticeError(f"{name} ended with {done.returncode}")


class Notices:
    """Queue of alerts to send, and the thread that sends them one at a time.

    A rejected alert is retried after growing pauses and then dropped. The length of the queue is
    bounded: if it is exceeded, the oldest alert is dropped.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        on_problem: Callable[[str], object],
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        self._channels, self._on_problem, self._pauses = channels, on_problem, pauses
        self._waiting: deque[tuple[str, Alert]] = deque()
        self._told: list[Alert] = []
        self._changed = threading.Condition()
        self._busy = self._ending = False
        self._thread: threading.Thread | None = None

    def add(self, name: str, alert: Alert) -> None:
        """Queue an alert of a monitor for sending."""
        if not self._channels:
            return
        with self._changed:
            if len(self._waiting) >= _MOST_WAITING:
                _, dropped = self._waiting.popleft()
                self._told.append(dropped)
                self._on_problem(f"too many alerts wait to be told; one of {dropped.kind} is not")
            self._waiting.append((name, alert))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="nwx-notices")
                self._thread.start()
            self._changed.notify_all()

    def taken(self) -> list[Alert]:
        """Return the alerts that were sent, or dropped, since the last call.

        An alert still pending at the end is neither: it is sent the next time.
        """
        with self._changed:
            told, self._told = self._told, []
            return told

    def finish(self, seconds: float) -> None:
        """Wait at most `seconds` until the queue is empty, then end.

        An alert that waits for a retry is no longer waited for.
        """
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._busy), seconds)
            self._ending = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._busy, _ENDING_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ending:
                    self._changed.wait()
                if self._ending:
                    return
                name, alert = self._waiting.popleft()
                self._busy = True
            notice = {"monitor": name, **alert._asdict()}
            done = [self._tell(channel, notice) for channel in self._channels]
            with self._changed:
                self._busy = False
                if all(done):
                    self._told.append(alert)
                self._changed.notify_all()

    def _tell(self, channel: Channel, notice: dict[str, Any]) -> bool:
        """Send an alert; return whether it is finished, sent or dropped."""
        problem = ""
        for pause in (*self._pauses, None):
            try:
                channel.tell(notice)
            except NoticeError as error:
                problem = str(error)[:_MOST_MESSAGE]
            else:
                return True
            with self._changed:
                if pause is not None and self._changed.wait_for(lambda: self._ending, pause):
                    self._on_problem(f"an alert was not told yet: {problem}")
                    return False
        self._on_problem(f"an alert was not told: {problem}")
        return True
