"""How alike a page is in the crawl's browser and in playback."""
