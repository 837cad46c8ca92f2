"""Commands for crawls and crawlers."""
