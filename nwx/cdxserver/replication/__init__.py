"""Replication in OutbackCDX's protocol: changes for followers, and following a primary."""
