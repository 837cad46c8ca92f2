"""An application on the server of `nwx serve`, in a thread of the tests."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from webapp.server.connections import address_of, listen
from webapp.server.worker import make_server


@contextmanager
def serving(
    application: Callable[..., Any],
    listening: socket.socket | None = None,
    body_limits: Mapping[str, int] | None = None,
    prefix: str = "",
) -> Iterator[str]:
    """Yield the address of an application, served by 4 threads."""
    listening = listening or listen("127.0.0.1", 0)
    address = address_of(listening)
    server = make_server(application, listening, 4, body_limits=body_limits, prefix=prefix)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.close()
        thread.join(10)
