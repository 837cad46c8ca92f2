"""Regular expressions of link rules, by RE2: their time grows with the URL only."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from nwx.errors import UsageError

if TYPE_CHECKING:
    import re2

MAX_EXPRESSION_CHARACTERS = 2_000
_AT_ONCE = 50
_MEMORY_BYTES = 8 << 20


class RuleError(UsageError):
    """An expression that RE2 does not take."""


class ExpressionSet:
    """Expressions that are searched for together; false where there are none."""

    def __init__(self, expressions: Sequence[str]) -> None:
        compiled = [(text, compile_expression(text)) for text in dict.fromkeys(expressions)]
        self._groups = [
            _Group(compiled[start : start + _AT_ONCE])
            for start in range(0, len(compiled), _AT_ONCE)
        ]

    def __bool__(self) -> bool:
        return bool(self._groups)

    def first(self, url: str) -> str:
        """Return the first expression that is found in a URL, "" where none is."""
        return next((found for group in self._groups if (found := group.first(url))), "")


class _Group:
    """Some expressions, searched for at once where RE2 takes them as one."""

    def __init__(self, compiled: "list[tuple[str, re2._Regexp[str]]]") -> None:
        self._compiled = compiled
        self._any: re2._Regexp[str] | None = None
        # A quotation that is not closed (\Q) would go on in the next expression.
        if not any("\\Q" in text for text, _ in compiled):
            with suppress(RuleError):  # too large as one
                self._any = compile_expression("|".join(f"(?:{text})" for text, _ in compiled))

    def first(self, url: str) -> str:
        """Return the first expression that is found in a URL, "" where none is."""
        if self._any is not None and self._any.search(url) is None:
            return ""
        return next((text for text, one in self._compiled if one.search(url)), "")


def compile_expression(text: str) -> "re2._Regexp[str]":
    """Return an expression compiled; raises RuleError with the reason where RE2 takes it not."""
    # Imported here: reading and writing specifications without expressions does without.
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY_BYTES
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise RuleError(words) from error
