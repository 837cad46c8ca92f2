"""Names of importers, by which another on the same machine tells whether they still run."""

import hashlib
import os
import secrets
import socket
from pathlib import Path

_PROC = Path("/proc")
_START, _STATE = 19, 0  # fields of /proc/PID/stat, counted from the state: proc(5)
_DEAD_STATES = "ZX"


def own_holder() -> str:
    """Return the name of this process as an importer: `host/pid/machine/start/random`.

    `machine` is of the running system and its numbering of processes; it
    and `start`, when the process began, are empty where there is no /proc.
    """
    pid = os.getpid()
    started = (_stat(pid) or ("", ""))[1]
    host = socket.gethostname().replace("/", "-") or "localhost"
    return f"{host}/{pid}/{_machine()}/{started}/{secrets.token_hex(4)}"


def is_known_dead(holder: str) -> bool:
    """Tell whether a holder ran on this machine and has ended; False where that is not known."""
    _, pid, machine, started, _ = (*holder.split("/"), "", "", "", "")[:5]
    if not machine or machine != _machine() or not pid.isdecimal():
        return False
    stat = _stat(int(pid))
    return stat is None or stat[0] in _DEAD_STATES or stat[1] != started


def _machine() -> str:
    """Return a hash of what is the same for all processes that see each other's numbers."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbering = (_PROC / "self/ns/pid").readlink()
    except OSError:
        return ""
    return hashlib.blake2b(f"{boot} {numbering}".encode(), digest_size=4).hexdigest()


def _stat(pid: int) -> tuple[str, str] | None:
    """Return the state of a process and when it began, None where there is none."""
    try:
        line = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = line.rpartition(")")[2].split()
    return fields[_STATE], fields[_START]
