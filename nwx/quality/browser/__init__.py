"""Pages as a real browser shows them: in playback, or on the live web through a proxy."""
