"""Graphs of hosts and domains as files for other programs."""
