"""Graphs of hosts and domains: built, ranked, and cut to what can be drawn."""
