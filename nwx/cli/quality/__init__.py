"""Commands for the playback quality of captured pages."""
