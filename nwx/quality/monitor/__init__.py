"""Monitoring of a running crawl: sums of its fetches, and alerts, stored in the archive."""
