"""Scripts rewritten for playback."""

import io
import sys
from types import SimpleNamespace

import pytest
from pywb.rewrite.url_rewriter import UrlRewriter

from webapp.replay.scripts import MOST_BYTES, ScriptRewriter, is_module

AT = "2020js_/http://a.example/app/main.js"


def rewritten(script: bytes) -> bytes:
    """Return a script as rewritten for playback."""
    rewriter = ScriptRewriter(UrlRewriter(AT, "/replay/"))
    info = SimpleNamespace(content_stream=io.BytesIO(script), charset="utf-8", text_type="js")
    return b"".join(rewriter(info))


@pytest.mark.parametrize(
    "script",
    [
        b"import './style.js'\n",
        b'/*! licence */import{a as b}from"./b.js";b()',
        b"// first\n\n'use strict';\nimport * as all from '/all.js';",
        b"\xef\xbb\xbfimport {\n  one,\n  two\n} from './numbers.js'",
        b"export default 1",
        b"let a = 1\nexport { a }",
        b"const a=1,b=2;function c(){}export{a as x,c as y};\n//# sourceMappingURL=c.js.map\n",
        b"let a = '\xe4\xff'; export { a }",
        b"import React, { useState } from 'react'",
    ],
)
def test_modules_are_known(script: bytes) -> None:
    assert is_module(script)
    assert b"_____WB$wombat$assign" not in rewritten(script)


@pytest.mark.parametrize(
    "script",
    [
        b"",
        b"let important = 1; exports = {}",
        b"import('./late.js').then(one => one.begin())",
        b"const words = 'import them from \"there\"'",
        b"  importScripts('x.js'); a.export = {}",
        b'run("\\nexport default 1")',
        b"x" * MOST_BYTES + b"\nexport default 1",
        b"import a " * 100_000,
    ],
)
def test_other_scripts_are_put_into_a_block(script: bytes) -> None:
    found = rewritten(script)
    assert found.startswith(b"\nvar _____WB$wombat$assign")
    assert script in found
    assert found.endswith(b"\n\n}}")


def test_no_script_declares_what_modules_must_not() -> None:
    assert b"let arguments" not in rewritten(b"begin()")
    assert b"__WB_check_loc(location, (typeof arguments" in rewritten(b"location = '/x'")


def test_what_modules_import_is_played_too() -> None:
    found = rewritten(
        b"import a from '/a.js'\nimport 'https://b.example/b.js'\nexport * from \"./c.js\"\n"
    )
    assert found == (
        b"import a from '/replay/2020js_/http://a.example/a.js'\n"
        b"import '/replay/2020js_/https://b.example/b.js'\n"
        b'export * from "./c.js"\n'
    )


def test_long_scripts_are_played_whole() -> None:
    lines = b"".join(b"f(%d)\n" % number for number in range(480_000))
    assert len(lines) > MOST_BYTES
    assert lines in rewritten(lines)


def test_nothing_changes_the_parser_of_html() -> None:
    """pywb's HTML rewriter does, for the whole process: then other pages are never parsed."""
    assert "pywb.rewrite.html_rewriter" not in sys.modules
