"""Site names by URL prefixes."""

from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.errors import SourceError, UsageError
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.question import parse_facet_question
from nwx.facets.sites import read_sites
from nwx.settings import Settings
from nwx.values.urlkeys import urlkey
from tests.conformance.archive import capture
from tests.facets import batch

LIST = """\
# prefixes and names
example.org/~paul/\tPaul's pages
https://www.example.org/~paul/poems  Poems
*.ministry.example   The ministry
ministry.example/press Press office

http://alone.example/ One host
"""


@pytest.fixture
def sites_file(tmp_path: Path) -> Path:
    path = tmp_path / "sites.txt"
    path.write_text(LIST)
    return path


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://example.org/", "-"),
        ("http://www.example.org/~paul/", "Paul's pages"),
        ("https://example.org/~paul/a/b?c", "Paul's pages"),
        ("http://example.org/~paul/poems/1", "Poems"),
        ("http://example.org/~paula/", "-"),
        ("http://ministry.example/", "The ministry"),
        ("http://a.b.ministry.example/x", "The ministry"),
        ("http://notministry.example/x", "-"),
        ("http://ministry.example/press/1", "Press office"),
        ("http://alone.example/x", "One host"),
        ("http://not.alone.example/x", "-"),
    ],
)
def test_the_longest_prefix_counts(sites_file: Path, url: str, name: str) -> None:
    assert read_sites(sites_file).names([urlkey(url)], ["-"]) == [name]


def test_wrong_lists(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("example.org\n")
    with pytest.raises(UsageError, match="line 1"):
        read_sites(tmp_path / "a")
    (tmp_path / "b").write_bytes(b"\xff\xfe\n")
    for name in ("b", "missing"):
        with pytest.raises(SourceError):
            read_sites(tmp_path / name)


def test_a_list_is_kept_until_another_is_given(tmp_path: Path, sites_file: Path) -> None:
    urls = ["http://example.org/~paul/", "http://example.org/", "http://x.ministry.example/"]

    def names() -> set[str]:
        rows = FacetAnswers(engine).answer(parse_facet_question(by="site")).rows
        return {row.values[0] for row in rows}

    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.write(batch(map(capture, urls)))
        engine.refresh()
        build_archive_facets(engine, FacetBuildOptions(sites=read_sites(sites_file)))
        assert names() == {"Paul's pages", "example.org", "The ministry"}
        engine.write(batch([capture("http://alone.example/", "2011")]))
        engine.refresh()
        known = {"Paul's pages", "example.org", "The ministry", "One host"}
        assert names() == known
        build_archive_facets(engine, FacetBuildOptions())
        assert names() == known
        build_archive_facets(engine, FacetBuildOptions(anew=True))
        assert names() == {"example.org", "ministry.example", "alone.example"}


@pytest.mark.parametrize("turned", [False, True])
def test_the_most_specific_line_counts_whatever_the_order(tmp_path: Path, turned: bool) -> None:
    lines = ["archive.org Home", "*.archive.org All", "web.archive.org Wayback", "archive.org/a A"]
    (tmp_path / "sites").write_text("\n".join(lines[::-1] if turned else lines))
    sites = read_sites(tmp_path / "sites")
    urls = ("archive.org/", "blog.archive.org/", "web.archive.org/x", "archive.org/a/b")
    keys = [urlkey(f"http://{url}") for url in urls]
    assert sites.names(keys, [""] * 4) == ["Home", "All", "Wayback", "A"]
    assert sites.without_effect == ()


def test_lines_without_effect_are_told(tmp_path: Path) -> None:
    (tmp_path / "sites").write_text(
        "# a list\na.example A\n\nhttp://www.a.example/ B\nb.example C\n"
    )
    sites = read_sites(tmp_path / "sites")
    assert sites.names([urlkey("http://a.example/")], [""]) == ["B"]
    [told] = sites.without_effect
    assert told.startswith("line 2 has no effect")
    assert "a.example A" in told
