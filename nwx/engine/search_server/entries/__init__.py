"""Small entries of an archive on a server: one store per index, and its states."""
