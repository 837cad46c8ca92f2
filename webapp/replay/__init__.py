"""Playback: pywb in a separate process."""
