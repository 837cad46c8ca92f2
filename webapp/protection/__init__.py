"""Protection of the service: rate limits of clients, request counts and metrics."""
