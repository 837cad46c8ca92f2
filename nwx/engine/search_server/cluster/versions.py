"""Versions of an index: numbered indices behind an alias, of which the next is swapped in whole."""

from collections.abc import Iterable

from nwx.engine.search_server.server import Body, Server, quoted
from nwx.errors import EngineError


def index_states(server: Server, names: str) -> Body:
    """Return aliases, mapping and settings of indices by their own names, missing ones left out."""
    return server.request("GET", f"/{quoted(names)}", params={"ignore_unavailable": "true"})


def current_version(server: Server, alias: str) -> tuple[str, Body]:
    """Return the index of an alias with its state, "" and nothing without one.

    Raises EngineError for an index of that very name, which nothing can take the place of.
    """
    name, state = next(iter(index_states(server, alias).items()), ("", {}))
    if name == alias:
        raise EngineError(
            f"{alias} is an index of that very name, which nothing can be swapped in for"
        )
    return name, state


def next_version(alias: str, old: str = "") -> str:
    """Return the name of the index that follows another of an alias."""
    number = old.rpartition("-")[2]
    return f"{alias}-{int(number) + 1 if number.isdigit() else 1:06}"


def swap_versions(
    server: Server,
    old: Iterable[str],
    new: str,
    aliases: Iterable[str],
    filling: str = "",
    *,
    deletes: bool = False,
) -> None:
    """Let a new index take the place of old ones in one step, which may delete these.

    `filling` is the alias that it had until now.
    """
    old = list(old)
    actions: list[Body] = [{"remove_index": {"index": one}} for one in old if deletes]
    for alias in dict.fromkeys(aliases):
        actions.append({"add": {"index": new, "alias": alias, "is_write_index": True}})
        actions += [{"remove": {"index": one, "alias": alias}} for one in old if not deletes]
    if filling:
        actions.append({"remove": {"index": new, "alias": filling}})
    server.request("POST", "/_aliases", {"actions": actions})


def delete_unplaced(server: Server, index: str, filling: str) -> None:
    """Delete an index unless it has replaced another, after a missing response.

    `filling` is the alias for filling it, before it has any other.
    """
    for state in index_states(server, index).values():
        if not set(state.get("aliases", ())) - {filling}:
            server.request("DELETE", f"/{quoted(index)}")
