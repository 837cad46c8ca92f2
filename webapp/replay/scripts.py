"""Rewriting of scripts that keeps modules working.

pywb wraps each script in a block and declares `arguments` in it. In a module,
both are errors: `import` and `export` must be at top level, and `arguments` is
reserved. A separate module from the other rewriters, as importing pywb's HTML
rewriter changes `html.parser` for the whole process.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import re2
from pywb.rewrite.regex_rewriters import (
    JSWombatProxyRewriter,
    JSWombatProxyRules,
    RxRules,
)

MOST_BYTES = 4 << 20
"""Longer scripts are never treated as modules."""

_SPACE = rb"(?:\s|//[^\n]*\n|/\*(?:[^*]|\*+[^*/])*\*+/)*"
_IMPORT = rb"""import\s*(?:["']|[\w$*{][^;"'()]*?["'])"""
_EXPORT = rb"export(?:\s*[{*]|\s+(?:default|async|class|const|function|let|var)\b)"
_NAMES = rb"[;}]\s*export\s*\{[^{}]*\}(?:\s*from\s*[\"'][^\"']*[\"'])?\s*;?" + _SPACE + rb"\z"
_STATEMENT = rb"(?:" + _IMPORT + rb"|" + _EXPORT + rb")"
_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
_MODULE = re2.compile(
    rb"\A(?:\xef\xbb\xbf)?" + _SPACE + _STATEMENT + rb"|(?m:^" + _STATEMENT + rb")|" + _NAMES,
    _BYTES,
)
_IMPORTED = r"""\b(?:from|import)\s*["']((?:https?:)?/[^"'\s]{1,2000})["']"""
_ARGUMENTS = "(typeof arguments === 'undefined' ? [] : arguments)"


def is_module(script: bytes) -> bool:
    """Return whether a script imports or exports: at its start, its end or a start of line."""
    return _MODULE.search(script) is not None


class _ScriptRules(JSWombatProxyRules):  # type: ignore[misc]
    """pywb's rules for scripts, without the declaration of `arguments`."""

    first_buff: str
    rules: list[Any]

    def __init__(self) -> None:
        super().__init__()
        self.first_buff = self.first_buff.replace("\nlet arguments;", "")

    @staticmethod
    def add_suffix(suffix: str) -> Any:
        """Return the function that appends text to a match."""
        return RxRules.add_suffix(suffix.replace("arguments", _ARGUMENTS))


class _ModuleRules(_ScriptRules):
    """Rules for modules, which also rewrite the URLs of imports."""

    def __init__(self) -> None:
        super().__init__()
        # Must come first: pywb miscounts the groups of rules after its own.
        self.rules = [(_IMPORTED, RxRules.archival_rewrite("js_"), 1), *self.rules]
        self.regex = self.compile_rules(self.rules)


class ScriptRewriter(JSWombatProxyRewriter):  # type: ignore[misc]
    """pywb's rewriter of scripts, which does not wrap modules in a block."""

    rules_factory: ClassVar[JSWombatProxyRules] = _ScriptRules()
    module_rules: ClassVar[JSWombatProxyRules] = _ModuleRules()

    def __init__(self, rewriter: Any, extra_rules: Any = None) -> None:
        super().__init__(rewriter, extra_rules=extra_rules)
        self._extra_rules = extra_rules

    def rewrite_text_stream_to_gen(self, stream: Any, rwinfo: Any) -> Iterator[bytes]:
        """Yield the rewritten pieces of a script file."""
        begin = _begin(stream)
        if len(begin) <= MOST_BYTES and is_module(begin):
            self.first_buff = self.last_buff = ""
            self.rules, self.regex = self.module_rules(self._extra_rules)
        yield from super().rewrite_text_stream_to_gen(_Read(begin, stream), rwinfo)


def _begin(stream: Any) -> bytes:
    """Read at most MOST_BYTES + 1 bytes from a stream."""
    pieces, size = [], 0
    while size <= MOST_BYTES and (piece := stream.read(MOST_BYTES + 1 - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


class _Read:
    """A stream whose beginning has been read already."""

    def __init__(self, begin: bytes, rest: Any) -> None:
        self._begin, self._at = begin, 0
        self._rest = rest

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes."""
        if self._at >= len(self._begin):
            found: bytes = self._rest.read(size)
            return found
        return self._took(self._at + size)

    def readline(self) -> bytes:
        """Return the rest of a line, or of the part read already."""
        if self._at >= len(self._begin):
            found: bytes = self._rest.readline()
            return found
        end = self._begin.find(b"\n", self._at)
        return self._took(end + 1 if end >= 0 else len(self._begin))

    def close(self) -> None:
        """Close the stream."""
        self._rest.close()

    def _took(self, end: int) -> bytes:
        found = self._begin[self._at : end]
        self._at += len(found)
        return found
