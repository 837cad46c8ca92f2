"""Serving: sockets, limits on clients, the processes of the service."""
