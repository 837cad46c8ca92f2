"""The size of an archive."""

from typing import Any

from nwx.engine.base import Engine


def measure(engine: Engine) -> dict[str, Any]:
    """Return the number of entries of each index by its name, and in `bytes` what they take.

    Bytes are None where the engine cannot tell.
    """
    stats = engine.stats()
    entries: dict[str, Any] = {index.value: found.entries for index, found in stats.items()}
    return {**entries, "bytes": {index.value: found.bytes for index, found in stats.items()}}
