"""Checks of playback: which pages, what is wrong with them, and how well they play."""
