"""Commands about crawls, and their crawlers."""
