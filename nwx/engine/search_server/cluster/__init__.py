"""Indices on several nodes: missing shards, resharding, snapshots and bulk-loading settings."""
