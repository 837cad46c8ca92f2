"""Indices over several nodes: missing shards, their number, and settings for bulk loading."""
