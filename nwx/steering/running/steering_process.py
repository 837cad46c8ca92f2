"""The process next to an import or a watch that has pages analysed and writes the results."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection

from nwx.bulk.guarded_process import Pulse
from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.errors import NwxError
from nwx.steering.running.options import (
    STOP,
    Figures,
    NewPages,
    Order,
    ProcessAnswer,
    SteeringCommand,
    SteeringPlan,
)
from nwx.steering.running.pages import PageBatch, PageSweeps, PageTask, unanalysed_pages
from nwx.steering.running.steering_run import SteeringRun

_REPORT_SECONDS = 0.5
_NICENESS = 5


def steer(connection: "Connection[ProcessAnswer, Order]", stop: Pulse, plan: SteeringPlan) -> None:
    """Analyse the pages that come over a connection; end on STOP, or with the parent."""
    os.nice(_NICENESS)  # where cores are few, loading comes first
    try:
        with open_engine(plan.settings) as engine:
            run = SteeringRun(engine, plan)
            steering = _Steering(connection, stop, plan, engine, run)
            with run, suppress(EOFError, BrokenPipeError, ConnectionResetError):  # a lost parent
                steering.work()
                run.finish(lambda: not steering.is_left_to_work())
            connection.send(Figures(run.report(), steering.taken, is_last=True))
    except NwxError as error:
        connection.send(error)
    except (BrokenPipeError, ConnectionResetError):
        return


class _Steering:
    def __init__(
        self,
        connection: "Connection[ProcessAnswer, Order]",
        stop: Pulse,
        plan: SteeringPlan,
        engine: Engine,
        run: SteeringRun,
    ) -> None:
        self._connection, self._stop, self._plan = connection, stop, plan
        self._engine, self._run = engine, run
        self._sweeps = PageSweeps(self._all_pages)
        self._is_finishing = False
        self._reported = 0.0
        self.taken = 0

    def work(self) -> None:
        """Obey orders and analyse until the end."""
        while self._has_work():
            if self._run.wants_more and not self._sweeps.is_over:
                self._run.offer(self._sweeps.next_pages())
            listened = [self._connection] if self._run.room else []
            for _ in self._run.turn(listened):
                self._obey(self._connection.recv())
            if time.monotonic() - self._reported >= _REPORT_SECONDS:
                self._reported = time.monotonic()
                self._connection.send(Figures(self._run.report(), self.taken))

    def is_left_to_work(self) -> bool:
        """Return whether the parent lives and has not asked for an end."""
        parent = parent_process()
        return self._stop.position != STOP and parent is not None and parent.is_alive()

    def _has_work(self) -> bool:
        is_done = self._is_finishing and self._sweeps.is_over and not self._run.is_busy
        return self.is_left_to_work() and not is_done

    def _obey(self, order: Order) -> None:
        if isinstance(order, NewPages):
            self.taken += len(order.places)
            self._run.offer(PageTask(place, order.source) for place in order.places)
        elif order is SteeringCommand.FINISH:
            self._is_finishing = True
        else:
            self._sweeps.ask()

    def _all_pages(self) -> Iterator[PageBatch]:
        self._run.forget_left()
        return unanalysed_pages(self._engine, self._plan.specification, self._run.version)
