"""Playback quality: the list of checked pages, worst first, each page with both screenshots."""
