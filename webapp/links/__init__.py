"""Links: who links to a URL, the graph of hosts, and what the archive lacks."""
