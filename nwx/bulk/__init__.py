"""Tools for large jobs: worker processes, external sorting, atomic files, progress, retries."""
