"""What captured pages need, and what of it the archive lacks."""
