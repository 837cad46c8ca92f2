"""The servers: sockets, limits on connections, worker processes."""
