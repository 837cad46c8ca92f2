"""The workers of a running service."""

import psutil


def worker_ids(pid: int) -> set[int]:
    """Return the ids of a service's workers, which are forked by a child of the service."""
    children = psutil.Process(pid).children()
    return {worker.pid for child in children for worker in child.children()}
