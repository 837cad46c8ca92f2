"""Answers of SPARQL queries as text."""

import json
from typing import Any

from nwx.cli.output import clean
from nwx.errors import UsageError
from nwx.steering.triples.triple_store import QueryAnswer, forms_of, serialized

_WIDEST = 80


def answer_text(answer: QueryAnswer, form: str) -> str:
    """Return an answer in a form, `table` for people; raises UsageError where it has not this."""
    if form == "table":
        return _for_people(answer)
    forms = forms_of(answer.kind)
    if form not in forms:
        raise UsageError(f"this query is answered as {', '.join(forms)}, not as {form}")
    text = serialized(answer, form).data.decode("utf-8", "replace")
    return text if text.endswith("\n") else f"{text}\n"


def _for_people(answer: QueryAnswer) -> str:
    if answer.kind == "triples":
        lines = answer.data.decode().removesuffix("\n").split("\n")
        return "".join(f"{clean(line)}\n" for line in lines if line)
    found: Any = json.loads(answer.data)
    if answer.kind == "boolean":
        return "yes\n" if found["boolean"] else "no\n"
    names: list[str] = found["head"]["vars"]
    rows = [[_cell(row.get(name)) for name in names] for row in found["results"]["bindings"]]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    shown = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (names, *rows)]
    return "".join(f"{line}\n" for line in shown)


def _cell(term: dict[str, str] | None) -> str:
    text = clean(term["value"]) if term else ""
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
