"""A synthetic web of several sites for a browser to crawl; reproducible except for its clocks."""
