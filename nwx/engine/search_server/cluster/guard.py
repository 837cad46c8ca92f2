"""A process that puts the settings of indices back when a bulk load is killed.

    python -m nwx.engine.search_server.cluster.guard

Its input is a line of JSON (the engine, its settings, the name of the
import), and ends with the import: with the line `done` where that has put
the settings back itself.
"""

import json
import signal
import sys
import time
from contextlib import suppress

from nwx.engine.open import open_engine
from nwx.engine.search_server.cluster.bulk_load import DONE
from nwx.errors import NwxError
from nwx.settings import ServerSettings, Settings

_ATTEMPTS = 120
_PAUSE_SECONDS = 5.0


def main() -> None:
    """Wait for the end of an import."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what stops the import must not stop this
    told, rest = sys.stdin.buffer.readline(), sys.stdin.buffer.read()
    if told and rest != DONE:
        _end(json.loads(told))


def _end(told: dict[str, object]) -> None:
    """Put the settings back; a server that is away is asked again for ten minutes.

    Where it stays away, `nwx check` names the import.
    """
    server = told["server"]
    settings = Settings(str(told["engine"]), ServerSettings(**server))  # type: ignore[arg-type]
    for _ in range(_ATTEMPTS):
        with suppress(NwxError), open_engine(settings) as engine:
            engine.shards().end_loading([str(told["holder"])])
            return
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main()
