"""Renders of captured pages, checks of their playback, repairs, and crawls watched as they run."""
