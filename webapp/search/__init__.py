"""Search page, document pages, exports and the JSON API of searches."""
