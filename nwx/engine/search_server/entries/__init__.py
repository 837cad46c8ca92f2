"""The small indices of an archive on a server, each an entry store with states."""
