"""Small entries of an archive on a server: a store for each index, and what stands beside it."""
