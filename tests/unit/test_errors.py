"""Errors and their texts: the English text, and everything needed for translation."""

import ast
import pickle
from pathlib import Path

import pytest
import requests

from nwx.errors import ErrorText, NwxError, QueryError, SourceError, system_reason

NWX = Path(__file__).parent.parent.parent / "nwx"
REACHING_PAGES = ("query", "searching", "values", "access", "links", "pictures")
"""Folders whose errors can be shown on pages, except those of OFF_PAGES."""

OFF_PAGES = {
    "arguments.py",
    "judgements.py",
    "ranking_evaluation.py",
    "user_options.py",
}
"""Modules in these whose errors are those of settings, of commands and of the Python API."""


def test_texts_are_english_with_their_counts_grouped() -> None:
    text = ErrorText("%(count)s words; %(weight)s%% of %(name)s", count=1_234, weight=0.5, name="a")
    assert str(text) == "1,234 words; 0.5% of a"
    assert str(ErrorText("100 % of all")) == "100 % of all"
    assert str(NwxError("plain, %s")) == "plain, %s"


def test_errors_within_errors_keep_their_texts() -> None:
    inner = QueryError(ErrorText("no field %(name)s", name="x"))
    outer = ErrorText("%(place)s: %(reason)s", place="q", reason=inner)
    assert str(outer) == "q: no field x"
    assert outer.values["reason"] is inner.text


def test_texts_cross_processes() -> None:
    text = ErrorText("%(a)s: %(b)s", a=3, b=ErrorText("no %(c)s", c="d"))
    assert str(ErrorText.from_json(text.to_json())) == "3: no d"
    error = pickle.loads(pickle.dumps(QueryError(text, "query", 4)))
    assert (str(error), error.query, error.position) == ("3: no d", "query", 4)
    assert error.text.template == text.template


def test_an_error_replaces_others_with_their_reason(tmp_path: Path) -> None:
    reading = SourceError.instead_of(OSError, "x cannot be read")
    with pytest.raises(SourceError) as told, reading:
        (tmp_path / "x").read_bytes()
    assert str(told.value) == "x cannot be read: No such file or directory"
    text = ErrorText("%(reason)s", reason=told.value.__cause__)
    assert str(text) == "No such file or directory"
    assert isinstance(told.value.__cause__, FileNotFoundError)
    with pytest.raises(KeyError), SourceError.instead_of((OSError, ValueError), "x"):
        raise KeyError("y")


def test_the_reason_of_a_failed_connection_is_what_the_system_says() -> None:
    with pytest.raises(requests.RequestException) as failed:
        requests.get("http://127.0.0.1:9/", timeout=5)
    assert system_reason(failed.value) == "Connection refused"
    assert str(system_reason(OSError("a text"))) == "a text"
    assert system_reason(FileNotFoundError("http://a.example/")) == "No such file or directory"


def test_another_error_that_was_handled_is_no_reason_of_the_system() -> None:
    try:
        raise KeyError("handled")
    except KeyError:
        with pytest.raises(OSError, match="a text") as failed:
            raise OSError("a text") from None
        with pytest.raises(OSError, match="in turn") as wrapped:
            raise OSError("in turn")  # noqa: B904
    assert str(system_reason(failed.value)) == "a text"
    assert str(system_reason(wrapped.value)) == "in turn"


def _untranslated(path: Path) -> list[int]:
    """Return the lines of a module that raise an error with a text other than an ErrorText."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.endswith("Error")
        and node.func.id not in ("AssertionError", "ValueError")
        and node.args
        and isinstance(node.args[0], (ast.Constant, ast.JoinedStr))
    ]


@pytest.mark.parametrize("folder", REACHING_PAGES)
def test_errors_that_pages_show_can_be_translated(folder: str) -> None:
    paths = (path for path in (NWX / folder).rglob("*.py") if path.name not in OFF_PAGES)
    found = {path.name: _untranslated(path) for path in paths}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_templates_are_literals_without_values() -> None:
    """`make messages` extracts literals only: it would miss an f-string."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in NWX.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("ErrorText", "translated")
        and isinstance(node.args[0], ast.JoinedStr)
    ]
    assert found == []
