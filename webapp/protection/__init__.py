"""Protection of the service: limits of clients, and the counts by which it is watched."""
