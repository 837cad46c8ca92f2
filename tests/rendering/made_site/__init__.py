"""A made web of several sites, for a browser to crawl: the same for a seed, but for its clocks."""
