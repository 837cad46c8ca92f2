"""The web application of nwx: search pages, a JSON API, exports and the way to playback."""

from webapp.application import create_app

__all__ = ["create_app"]
