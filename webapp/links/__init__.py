"""Links: inlinks of a URL, the graph of hosts, and missing URLs."""
