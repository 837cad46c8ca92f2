"""How large work is done: worker processes, sorting on disk, whole files, retries."""
