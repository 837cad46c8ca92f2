"""New versions of indices, which take the place of others by their aliases."""

from nwx.engine.search_server.server import Server, quoted
from nwx.errors import EngineUnavailableError


def block_writes(server: Server, index: str) -> None:
    """Let nothing be written to an index, and wait for what is being written.

    The setting `index.blocks.write` alone does not wait.
    """
    answer = server.request("PUT", f"/{quoted(index)}/_block/write")
    # One that was blocked before is not named.
    if not all(one.get("blocked") for one in answer.get("indices", ())):
        raise EngineUnavailableError(
            f"not all shards of {index} at {server.address} stopped to take writes; try again"
        )


def allow_writes(server: Server, index: str) -> None:
    """Let an index be written to again."""
    server.request("PUT", f"/{quoted(index)}/_settings", {"index.blocks.write": None})


def delete_unplaced(server: Server, index: str, filling: str) -> None:
    """Delete an index unless it has taken the place of another, though no answer came.

    `filling` is the alias by which it is filled, before it has any other.
    """
    path = f"/{quoted(index)}"
    for state in server.request("GET", path, params={"ignore_unavailable": "true"}).values():
        if not set(state.get("aliases", ())) - {filling}:
            server.request("DELETE", path)
