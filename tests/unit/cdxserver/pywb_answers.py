"""Answers of the real pywb: reads a folder of indices and questions, writes answers as JSON.

Runs in a separate process, as importing pywb has side effects on other modules.
"""

import json
import sys
from urllib.parse import parse_qsl

from pywb.warcserver.handlers import IndexHandler
from pywb.warcserver.index.aggregator import DirectoryIndexSource


class _Asked:
    def __init__(self) -> None:
        self.env: dict[str, str] = {}

    def include_method_query(self, url: str) -> str:
        """Return the URL unchanged: all questions here use GET."""
        return url


def _answer(handler: IndexHandler, question: str) -> list[str] | str:
    parameters: dict[str, object] = {"_input_req": _Asked()}
    for name, value in parse_qsl(question):
        if name == "filter":
            parameters.setdefault("filter", []).append(value)  # type: ignore[attr-defined]
        else:
            parameters[name] = value
    _, pieces, errors = handler(parameters)
    if pieces is None:
        return repr(errors)
    return b"".join(pieces).decode().splitlines()


def main() -> None:
    """Answer the questions on standard input from the indices in a folder."""
    handler = IndexHandler(DirectoryIndexSource(sys.argv[1], ""))
    print(json.dumps([_answer(handler, question) for question in json.load(sys.stdin)]))


main()
