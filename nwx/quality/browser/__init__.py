"""Rendering of pages in a real browser: in playback, or on the live web through a proxy."""
