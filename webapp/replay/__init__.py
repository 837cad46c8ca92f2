"""Playback: pywb in a process of its own."""
