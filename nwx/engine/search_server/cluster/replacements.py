"""New versions of indices, which take the place of others by their aliases."""

from nwx.engine.search_server.server import Server, quoted


def delete_unplaced(server: Server, index: str, filling: str) -> None:
    """Delete an index unless it has taken the place of another, though no answer came.

    `filling` is the alias by which it is filled, before it has any other.
    """
    path = f"/{quoted(index)}"
    for state in server.request("GET", path, params={"ignore_unavailable": "true"}).values():
        if not set(state.get("aliases", ())) - {filling}:
            server.request("DELETE", path)
