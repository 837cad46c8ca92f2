"""Checks of playback, with a browser that is made up."""
