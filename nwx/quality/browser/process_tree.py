"""The processes of a browser: what memory they take together, and their end."""

import os
import signal
from contextlib import suppress

import psutil


def memory_of_tree(pid: int) -> int:
    """Return the bytes that a process and all below it take, what they share counted once."""
    total = shared = 0
    for process in _tree(pid):
        with suppress(psutil.Error):
            found = process.memory_info()
            own_shared = getattr(found, "shared", 0)
            total += found.rss - own_shared
            shared = max(shared, own_shared)
    return total + shared


def kill_below(pid: int) -> None:
    """Kill all processes below one, those that they start meanwhile too."""
    for _ in range(3):
        below = [each for each in _tree(pid) if each.pid != pid]
        if not below:
            return
        for process in below:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(below, timeout=3)


def kill_users_of(folder: str) -> None:
    """Kill the processes of this user that were started for a folder, whoever their parent is."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid == os.getpid():
                continue
            if process.uids().real == os.getuid() and _is_for(process, folder):
                os.kill(process.pid, signal.SIGKILL)


def _is_for(process: psutil.Process, folder: str) -> bool:
    if any(f"{folder}/" in f"{word}/" for word in process.cmdline()):
        return True
    return process.environ().get("HOME", "") == folder


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []
