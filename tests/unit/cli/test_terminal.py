"""Tables for terminals, and lines that are never wrapped."""

import io

import pytest
from rich.console import Console

from nwx.cli.terminal import OneLine, console, plain_table, shortened


def test_shortened_keeps_both_ends() -> None:
    url = "http://www.example.org/a/long/path/to/a/page.html?id=12345"
    assert shortened(url, 200) == url
    short = shortened(url, 30)
    assert len(short) == 30
    assert short.startswith("http://www.exa")
    assert short.endswith("html?id=12345")


@pytest.mark.parametrize("width", range(1, 20))
def test_shortened_is_never_too_wide(width: int) -> None:
    wide = "http://例え.テスト/とても長い道/ページ.html"
    assert Console(width=80).measure(shortened(wide, width)).maximum <= width


@pytest.mark.parametrize("terminal", [True, False])
def test_one_line_is_shortened_on_terminals_only(terminal: bool) -> None:
    url = "http://www.example.org/" + "x" * 100
    out = io.StringIO()
    Console(file=out, width=40, force_terminal=terminal, color_system=None).print(OneLine(url))
    lines = out.getvalue().splitlines()
    assert len(lines) == (1 if terminal else 4)
    assert ("…" in out.getvalue()) is terminal
    assert terminal or "".join(lines) == url


def test_texts_of_an_archive_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[b]a[/b] :smile:", plain_table("[i]x"))
    assert capsys.readouterr().out.split() == ["[b]a[/b]", ":smile:", "[i]x"]
