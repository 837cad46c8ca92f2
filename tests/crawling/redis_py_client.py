"""Sends commands to two servers by redis-py, in a Python with its newest version.

Reads `[[port, port], [[argument, …], …]]`, arguments in hex, as JSON from standard input; writes
a list of the answers of each port, with strings in hex.
"""

import json
import sys
from typing import Any

import redis

_AT_ONCE = 40


def plain(answer: Any) -> Any:
    """Return an answer in JSON-compatible types."""
    if isinstance(answer, bytes):
        return answer.hex()
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    return str(answer) if isinstance(answer, Exception) else answer


def answers(port: int, commands: list[list[bytes]]) -> list[Any]:
    """Return the answers of a server."""
    client = redis.Redis(port=port, protocol=2)
    client.response_callbacks.clear()
    found = []
    for start in range(0, len(commands), _AT_ONCE):
        pipe = client.pipeline(transaction=False)
        for arguments in commands[start : start + _AT_ONCE]:
            pipe.execute_command(*arguments)
        found += pipe.execute(raise_on_error=False)
    return [plain(one) for one in found]


ports, listed = json.load(sys.stdin)
asked = [[bytes.fromhex(one) for one in arguments] for arguments in listed]
json.dump([answers(port, asked) for port in ports], sys.stdout)
