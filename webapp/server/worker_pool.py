"""The worker pool: accepts connections and hands each to the worker with the fewest.

Workers share only the files of the archive and of `webapp.server.protection`. A worker that dies is
restarted; connections of which it had read nothing are handed to others.
"""

import fcntl
import logging
import pickle
import selectors
import signal
import socket
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from types import FrameType

from nwx.bulk.child_processes import fork_server
from nwx.errors import NwxError, SettingsError, system_reason
from webapp.server.connections import listen
from webapp.server.worker import (
    BEGUN,
    CLOSED,
    CONNECTION_NUMBER,
    FAILED,
    LAST_ANSWERS_SECONDS,
    READY,
    WORKER_MESSAGE,
    WorkerOrder,
    serve_order,
)

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_STEADY_SECONDS = 60.0
"""After this run time, the pause before a restart is the shortest again."""

_AT_ONCE = 64
_MOST_UNREAD = 256
"""The most unread connections that the pool keeps open too, so that they survive a worker."""

_TCP_INFO_BYTES = 136
_BYTES_RECEIVED = slice(128, 136)
"""The bytes of `tcpi_bytes_received` in Linux' `struct tcp_info`."""

_MARGIN_SECONDS = 5.0
_ERROR_BYTES = 1 << 16
_LOOK_SECONDS = 1.0

_logger = logging.getLogger("nwx.server")


class _Worker:
    """A worker process and the channel to it; `replaces` is stopped once this one is ready."""

    def __init__(self, order: WorkerOrder, replaces: "_Worker | None" = None) -> None:
        context = fork_server("__main__", *order.maker.modules)
        self.channel, other = socket.socketpair()
        with other:
            self.process = context.Process(target=serve_order, args=(other, order))
            self.process.start()
        self.channel.setblocking(False)
        self.started = time.monotonic()
        self.replaces = replaces
        self.is_ready = False
        self.connections = 0
        self.told = b""

    def take(self, accepted: socket.socket, number: int) -> bool:
        try:
            socket.send_fds(self.channel, [CONNECTION_NUMBER.pack(number)], [accepted.fileno()])
        except OSError:
            return False
        self.connections += 1
        return True

    def messages(self) -> bytes | None:
        """Return messages of the worker, b"" at the end of the channel, None if there are none."""
        try:
            return self.channel.recv(_ERROR_BYTES)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def leave(self) -> None:
        """Close the channel, so that the worker finishes its responses and ends."""
        self.channel.close()

    def end(self) -> None:
        """Wait for the worker to end, and kill it if it takes too long."""
        self.process.join(LAST_ANSWERS_SECONDS + _MARGIN_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class WorkerPool:
    """A number of workers at a listening socket, from `start` to `close`.

    SIGUSR1 replaces the workers without refusing connections.
    """

    def __init__(self, listening: socket.socket, number: int, order: WorkerOrder) -> None:
        self._listening = listening
        self._order = order
        self._number = number
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self._leaving: list[_Worker] = []
        self._due: list[float] = []
        self._pause = _FIRST_PAUSE_SECONDS
        self._accepting = self._renewing = False
        self._handed = 0
        self._unread: dict[int, tuple[_Worker, socket.socket]] = {}
        self._waiting: list[socket.socket] = []
        listening.setblocking(False)

    def start(self) -> None:
        """Start the workers and wait until all are ready; raise the error of one that fails."""
        for _ in range(self._number):
            self._add()
        while not all(worker.is_ready for worker in self._workers):
            for key, _ in self._selector.select():
                error = self._read(key.data)
                if error is not None:
                    raise error

    def run(self) -> None:
        """Hand over connections until a signal raises KeyboardInterrupt."""
        before = signal.signal(signal.SIGUSR1, self._note_renewal)
        try:
            while True:
                self._step()
        finally:
            signal.signal(signal.SIGUSR1, before)

    def close(self) -> None:
        """End all workers after their current responses; may be called twice."""
        everybody = [*self._workers, *self._leaving]
        self._workers, self._leaving = [], []
        for worker in everybody:
            worker.leave()
        for worker in everybody:
            worker.end()
        for accepted in (*self._waiting, *(one for _, one in self._unread.values())):
            accepted.close()
        self._selector.close()

    def _step(self) -> None:
        waiting, self._waiting = self._waiting, []
        for accepted in waiting:
            self._hand_over(accepted)
        self._accept_if_ready()
        for key, _ in self._selector.select(_LOOK_SECONDS):
            if key.data is None:
                self._accept()
            elif key.data in self._workers and (error := self._read(key.data)) is not None:
                _logger.error("a server process ended and is started again: %s", error)
                self._restart(key.data)
        self._leaving = [one for one in self._leaving if one.process.is_alive()]
        while self._due and self._due[0] <= time.monotonic():
            self._due.pop(0)
            self._add()
        if self._renewing:
            self._renewing = False
            for worker in tuple(self._workers):
                self._add(replaces=worker)

    def _add(self, replaces: _Worker | None = None) -> None:
        worker = _Worker(self._order, replaces)
        self._workers.append(worker)
        self._selector.register(worker.channel, selectors.EVENT_READ, worker)

    def _accept_if_ready(self) -> None:
        """Watch the listening socket only while a worker is ready and no connection waits."""
        ready = not self._waiting and any(worker.is_ready for worker in self._workers)
        if ready and not self._accepting:
            self._selector.register(self._listening, selectors.EVENT_READ, None)
        elif self._accepting and not ready:
            self._selector.unregister(self._listening)
        self._accepting = ready

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                _logger.error("a connection cannot be accepted: %s", system_reason(error))
                time.sleep(_LOOK_SECONDS / 10)
                return
            self._hand_over(accepted)

    def _hand_over(self, accepted: socket.socket) -> None:
        """Hand a connection to the worker with the fewest, or queue it if none takes it."""
        self._handed = (self._handed + 1) % (1 << 32)
        ready = (worker for worker in self._workers if worker.is_ready)
        for worker in sorted(ready, key=lambda worker: worker.connections):
            if worker.take(accepted, self._handed):
                self._unread[self._handed] = worker, accepted
                if len(self._unread) > _MOST_UNREAD:
                    self._release(next(iter(self._unread)))
                return
        self._waiting.append(accepted)

    def _release(self, number: int) -> None:
        """Close the pool's copy of a connection."""
        if number in self._unread:
            self._unread.pop(number)[1].close()

    def _read(self, worker: _Worker) -> NwxError | None:
        """Handle messages of a worker; return the error that it ended with, if it did."""
        told = worker.messages()
        if told is None:
            return None
        if not told or (told.startswith(FAILED) and not worker.is_ready):
            return self._ended(worker, told)
        told = worker.told + told
        whole = len(told) - len(told) % WORKER_MESSAGE.size
        worker.told = told[whole:]
        for kind, number in WORKER_MESSAGE.iter_unpack(told[:whole]):
            if kind in (BEGUN, CLOSED):
                self._release(number)
            worker.connections -= kind == CLOSED
            if kind == READY:
                self._note_ready(worker)
        return None

    def _note_ready(self, worker: _Worker) -> None:
        worker.is_ready = True
        if worker.replaces is not None:
            self._let_leave(worker.replaces)
            worker.replaces = None

    def _ended(self, worker: _Worker, told: bytes) -> NwxError:
        """Remove an ended worker, requeue its unread connections, and return its error."""
        self._selector.unregister(worker.channel)
        self._workers.remove(worker)
        worker.leave()
        worker.end()
        for number in self._numbers_of(worker):
            accepted = self._unread.pop(number)[1]
            if _was_read(accepted):
                accepted.close()
            else:
                self._waiting.append(accepted)
        if told:
            error: NwxError = pickle.loads(told[len(FAILED) :])
            return error
        return SettingsError(f"a server process ended (exit code {worker.process.exitcode})")

    def _restart(self, worker: _Worker) -> None:
        """Schedule the restart of an ended worker, unless it is being replaced or a replacement."""
        coming = [one for one in self._workers if one.replaces is worker]
        for one in coming:
            one.replaces = None
        if not coming and worker.replaces is None:
            self._due.append(time.monotonic() + self._next_pause(worker))

    def _let_leave(self, worker: _Worker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            self._selector.unregister(worker.channel)
            worker.leave()
            self._leaving.append(worker)
            for number in self._numbers_of(worker):
                self._release(number)

    def _numbers_of(self, worker: _Worker) -> list[int]:
        """Return the numbers of a worker's connections not known to be read."""
        return [number for number, (one, _) in self._unread.items() if one is worker]

    def _next_pause(self, worker: _Worker) -> float:
        """Return the pause in seconds before a restart; it grows while workers fail."""
        if time.monotonic() - worker.started > _STEADY_SECONDS:
            self._pause = _FIRST_PAUSE_SECONDS
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
        return pause

    def _note_renewal(self, number: int, frame: FrameType | None) -> None:
        self._renewing = True


def _was_read(accepted: socket.socket) -> bool:
    """Return whether a dead worker had read bytes of a connection without reporting it.

    False on systems that do not count bytes (only Linux does).
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        counts = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        unread = fcntl.ioctl(accepted, termios.FIONREAD, bytes(4))
    except OSError:
        return True
    received = int.from_bytes(counts[_BYTES_RECEIVED], sys.byteorder)
    # The FIN of a client counts as a byte.
    return received > int.from_bytes(unread, sys.byteorder) + 1


@contextmanager
def listening_service(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a listening socket; meanwhile Ctrl-C and SIGTERM end the body without an error.

    Raises SettingsError if the address is not available.
    """

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        with listen(host, port) as listening, suppress(KeyboardInterrupt):
            yield listening
    finally:
        signal.signal(signal.SIGTERM, before)


def run_workers(
    listening: socket.socket, number: int, order: WorkerOrder, ready: Callable[[], object]
) -> None:
    """Run a number of workers until a signal; `ready` is called once all are ready.

    Raises the error of a worker that cannot open its application.
    """
    with closing(WorkerPool(listening, number, order)) as pool:
        pool.start()
        ready()
        pool.run()
