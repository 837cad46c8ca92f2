"""The shards of indices on servers."""
