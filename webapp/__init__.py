"""The web application of nwx: search pages, a JSON API, exports and links to playback."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webapp.application import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    """Import the application on first use: `nwx dedup-server` needs no pages."""
    if name != "create_app":
        raise AttributeError(name)
    from webapp.application import create_app

    return create_app
