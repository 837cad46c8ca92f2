"""Renders of captured pages, playback checks, repairs, and monitoring of running crawls."""
