"""Playback scores as programs read them, on the command line and from the API."""
