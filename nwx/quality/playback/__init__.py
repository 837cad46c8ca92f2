"""Playback checks: choice of pages, faults and scores."""
