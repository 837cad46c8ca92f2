"""The listener of an import or a watch, which passes new pages to an analysing process."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Self

from nwx.bulk.guarded_process import GuardedProcess, Pulse
from nwx.captures import PagePlace
from nwx.errors import NwxError, system_reason
from nwx.steering.options import (
    STOP,
    Figures,
    NewPages,
    Order,
    ProcessAnswer,
    SteeringCommand,
    SteeringPlan,
    SteeringReport,
)
from nwx.warc.sources import ArchiveSource

_MESSAGE_PAGES = 500
_LOOK_SECONDS = 0.2
_END_SECONDS = 10.0
_SWEEP_SECONDS = 60.0
"""The shortest time between two sweeps over the archive."""


class SteeringListener:
    """Passes new pages to an analysing process, as long as it keeps up.

    The process is started with the first pages. Pages above the limit of waiting pages are counted
    and left for later. Failures of the process are in `report`, and never raised.
    """

    def __init__(self, plan: SteeringPlan) -> None:
        self._plan = plan
        self._past = SteeringReport(plan.specification.name, plan.specification.version())
        self._process: _Process | None = None
        self._left = 0
        self._next_sweep = 0.0

    def on_documents(self, source: ArchiveSource, pages: Sequence[PagePlace]) -> None:
        """Pass the new pages of a file to the process."""
        process = self._running()
        for start in range(0, len(pages), _MESSAGE_PAGES):
            some = tuple(pages[start : start + _MESSAGE_PAGES])
            if process is None or process.pages + len(some) > self._plan.options.queue_pages:
                self._left += len(some)
            else:
                process.hand_over(NewPages(source, some))

    @property
    def process_id(self) -> int | None:
        """The id of the analysing process, None if it is not running."""
        return self._process.id if self._process else None

    def idle(self) -> None:
        """Start the analysis of pages left by earlier runs, then of pages left by this one."""
        now = time.monotonic()
        if now >= self._next_sweep and (self._next_sweep == 0 or self.report().waiting):
            self._next_sweep = now + _SWEEP_SECONDS
            self.sweep()

    def sweep(self) -> None:
        """Request analysis of pages left for later, once idle; restart a crashed process."""
        if self._process is not None and self._process.has_ended:
            self._end_process()
        process = self._running()
        if process is not None:
            self._left = 0
            self._past = replace(self._past, waiting=0, stopped="")
            process.hand_over(SteeringCommand.SWEEP)

    def report(self) -> SteeringReport:
        """Return the figures so far."""
        now = self._process.report() if self._process else SteeringReport()
        both = self._past + now
        return replace(both, waiting=both.waiting + self._left)

    def finish(
        self,
        show: Callable[[SteeringReport], object] = lambda report: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> SteeringReport:
        """Wait until all waiting pages are analysed, or `stopping` is true; return the report.

        `show` is called a few times a second.
        """
        process, interrupted = self._process, False
        if process is not None:
            process.hand_over(SteeringCommand.FINISH)
            while not process.has_ended and not interrupted:
                show(self.report())
                time.sleep(_LOOK_SECONDS)
                interrupted = stopping()
            self._end_process()
        return replace(self.report(), interrupted=interrupted)

    def _running(self) -> "_Process | None":
        """Return the process, None if it has died or cannot be started."""
        if self._process is None:
            try:
                self._process = _Process(self._plan)
            except (OSError, EOFError) as error:
                why = f"no process can be started: {system_reason(error)}"
                self._past = replace(self._past, stopped=why)
                return None
        return None if self._process.has_ended else self._process

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.end()
            self._past = self._past + self._process.report()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_process()


class _Process:
    """The process, with a thread that sends and one that receives."""

    def __init__(self, plan: SteeringPlan) -> None:
        self._item_seconds = plan.options.item_seconds
        self._orders: SimpleQueue[Order | None] = SimpleQueue()
        self._handed_over = self._sent = 0
        self._last = Figures(SteeringReport(), 0)
        self._stopped = ""
        self._is_over = threading.Event()
        memory = plan.options.item_bytes
        self._process = GuardedProcess(_steer, plan, memory_bytes=memory, has_children=True)
        self._connection: Connection[Order, ProcessAnswer] = self._process.connection
        self._threads = [threading.Thread(target=each) for each in (self._send, self._listen)]
        for thread in self._threads:
            thread.start()

    @property
    def id(self) -> int | None:
        """The id of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process will send nothing more."""
        return self._is_over.is_set()

    @property
    def pages(self) -> int:
        """The number of pages not sent to the process yet."""
        return self._handed_over - self._sent

    def hand_over(self, order: Order) -> None:
        """Queue pages or an order for the process."""
        if isinstance(order, NewPages):
            self._handed_over += len(order.places)
        self._orders.put(order)

    def _send(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                self._connection.send(order)
            except OSError:
                return
            if isinstance(order, NewPages):
                self._sent += len(order.places)

    def _listen(self) -> None:
        try:
            while not self._last.is_last:
                answer = self._connection.recv()
                if isinstance(answer, NwxError):
                    self._stopped = str(answer)
                else:
                    self._last = answer
        except (EOFError, OSError):
            if not self._stopped:
                self._stopped = f"the process {self._process.death().cause(self._item_seconds)}"
        self._is_over.set()

    def report(self) -> SteeringReport:
        """Return the last figures; pages that the process has not taken yet count as waiting."""
        waiting = self._last.report.waiting + self._handed_over - self._last.taken
        return replace(self._last.report, waiting=waiting, stopped=self._stopped)

    def end(self) -> None:
        """Let the process store its results and end; kill it if that takes too long."""
        self._process.pulse.position = STOP
        self._process.death(_END_SECONDS if self._is_over.wait(_END_SECONDS) else 0)
        self._orders.put(None)
        for thread in self._threads:
            thread.join()
        self._process.end()


def _steer(connection: "Connection[ProcessAnswer, Order]", stop: Pulse, plan: SteeringPlan) -> None:
    # Imported here: the parent needs none of the libraries for analysis.
    from nwx.steering.steering_run import steer

    steer(connection, stop, plan)
