"""Hostile markup is parsed with bounded work, or cut, which is reported."""

import subprocess
import sys

import pytest

from nwx.extract import ExtractLimits, extract
from nwx.extract.guard import crowded, disarm

# Without the guard, each takes the parser from seconds to hours, or gigabytes.
HOSTILE = {
    "nested blocks": "'<div>' * 50_000 + 'end'",
    "nested lists": "'<ul><li>' * 25_000 + '<li>' * 25_000 + 'end'",
    "nested forms in tables": "'<table><tr><td><div></div></div><form>' * 15_000 + 'end'",
    "end tags of nothing": "'<span>' * 25_000 + '</x></table></div>' * 25_000 + 'end'",
    "unclosed fonts": "''.join(f'<font a={i}><p>' for i in range(20_000)) + 'end'",
    "fonts in odd case": "''.join(f'<FoNt a={i}><p></b>' for i in range(20_000)) + 'end'",
    "attributes": "'<a ' + ' '.join(f'a{i}' for i in range(200_000)) + '>end</a>'",
    "one long attribute": "'<a title=\"' + 'x' * 15_000_000 + '\">end</a>'",
    "entities": "'&amp' * 250_000 + '&#99999999999;' + 'end'",
    "angle brackets": "'<' * 500_000 + 'end'",
    "comments": "'<!--' * 250_000 + '-->end'",
    "zero bytes": "'\\0' * 500_000 + 'end'",
    "unclosed everything": "'<table><tr><td><a href=x><b><select><option>' * 8_000 + 'end'",
    "scripts of quotes": "'<script>\"<a x=\\'</script>' * 20_000 + 'end'",
    "templates and svg": "'<svg><template><math>' * 15_000 + 'end'",
}

RUN = """
import os, resource, sys
from nwx.extract import extract
parser, sources = sys.argv[1], sys.argv[2:]
for number, source in enumerate(sources):
    if os.fork() == 0:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        found = extract(
            eval(source).encode(), url="http://a.example/", content_type_norm="html", parser=parser
        )
        assert len(found.content) >= 0
        sys.exit(0)
    print(number, os.wait()[1], flush=True)
"""


@pytest.mark.parametrize("parser", ["fast", "bs4"])
def test_hostile_markup_ends(parser: str) -> None:
    """In a separate process, which a crash of native code would end with a signal."""
    command = [sys.executable, "-c", RUN, parser, *HOSTILE.values()]
    done = subprocess.run(command, capture_output=True, text=True)
    ended = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    names = list(HOSTILE)
    failed = [names[number] for number, status in ended if status]
    assert (failed, len(ended)) == ([], len(names)), done.stderr[-500:]


def test_deep_text_and_links_survive() -> None:
    markup = "<div>" * 20_000 + "deep<a href=x>link</a>" + "</div>" * 20_000 + "<p>after"
    found = extract(markup.encode(), url="http://a.example/", content_type_norm="html")
    assert found.content == "deeplink\nafter"
    assert [link.url for link in found.links] == ["http://a.example/x"]
    assert found.problems == ("depth: 19488 tags lie deeper than 512 elements",)


def test_big_but_shallow_pages_stay_as_they_are() -> None:
    markup = "<ul>" + "<li><div><a href=x>y</a></div>" * 10_000 + "</ul>"
    assert disarm(markup, ExtractLimits()) == (markup, [])


def test_too_many_tags_are_cut() -> None:
    html, problems = disarm("<br>x" * 10_000, ExtractLimits(tags=9_000))
    assert html == "<br>x" * 9_000
    assert problems == ["tags: more than 9000 tags, the rest was left out"]


def test_long_scripts_and_values_are_no_crowd() -> None:
    script = "<script>if (a<b) { " + "c d e = 'f' " * 20_000 + "}</script>"
    data = "<a data-x='" + "a b c " * 20_000 + "'>x</a>"
    assert not crowded(script + data)
    assert crowded("<a " + "b c " * 20_000 + ">")


@pytest.mark.parametrize("length", [66_000, 90_000, 120_000])
def test_a_crowded_tag_is_found_wherever_it_begins(length: int) -> None:
    tag = f"<a {' '.join(f'a{number}' for number in range(9_000))}>"
    for place in (0, (length - len(tag)) // 2, length - len(tag)):
        page = "<p>text</p>" * (place // 11) + tag
        page += " " * max(0, length - len(page))
        assert crowded(page)
        assert not crowded(page.replace(" a", " "))
