"""The crawler's queue over HTTP (docs/steering-protocol.md)."""
