"""The layout of the source: one definition of a name, nouns for modules, a test for each module."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("nwx", "webapp")
MODULES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
pytestmark = pytest.mark.xdist_group("layout")
Trees = Mapping[Path, ast.Module]

MOST_LINES = 400
MOST_FUNCTION_LINES = 40
MOST_MODULES = 16
"""In one folder."""

SHARED_NAMES = {
    "command": "each command module of nwx/cli defines the command of its name",
    "main": "the console scripts dedup-cdx, revisits and add-dates, nwx itself, and the player",
    "open_engine": "each engine is opened by its own, and nwx/engine/base.py chooses",
    "build": "nwx.zipnum.build is public API, and `nwx triples build` a command",
    "blueprint": "each module of routes registers one under this name",
}
"""Public names that several modules define, with the reason."""

ENGINES = ("nwx/engine/search_server/", "nwx/engine/embedded/")
"""Classes with the same role in both engines have the same name in both."""

NOT_GERUNDS = {"digest_spelling", "missing"}
"""Names of modules that end in -ing and are nouns, or the name of their command."""

CROWDED = {"nwx": "the spine: an Archive, its parts by area, and what all modules rest on"}
"""Folders with more modules than are easy to survey, with the reason."""

TESTED_ELSEWHERE = {
    "nwx/searching/page_changes.py": "tests/conformance/test_page_changes.py",
    "nwx/exports/archive_inputs.py": "tests/cli/test_export_extracts.py",
    "nwx/exports/derivatives.py": "tests/cli/test_export_extracts.py",
    "nwx/maintenance/backups.py": "tests/cli/test_backup.py",
    "nwx/maintenance/purge.py": "tests/conformance/test_takedown.py",
    "nwx/maintenance/takedown_targets.py": "tests/conformance/test_takedown.py",
    "nwx/maintenance/takedown_updates.py": "tests/conformance/test_takedown.py",
    "nwx/dedup/key_store.py": "tests/cli/test_dedup_server.py",
    "nwx/dedup/redis_commands.py": "tests/cli/test_dedup_server.py",
    "nwx/importing/enrichment.py": "tests/conformance/test_fields.py",
    "nwx/extract/exif.py": "tests/unit/pictures/test_measures.py",
    "nwx/extract/page_fields.py": "tests/unit/extract/test_enrichers.py",
    "nwx/engine/document_dates.py": "tests/conformance/test_joined_dates.py",
    "nwx/values/zstd.py": "tests/unit/warc/test_members.py",
    "nwx/access": "tests/unit/access/test_restricted_engine.py",
    "nwx/answers": "tests/unit/test_archive.py",
    "nwx/assistants": "tests/conformance/test_assistants.py",
    "nwx/archive_pages.py": "tests/web",
    "nwx/archive_crawls.py": "tests/cli/test_queue.py",
    "nwx/archive_indices.py": "tests/cli/test_stats.py",
    "nwx/archive_renders.py": "tests/cli/test_pictures.py",
    "nwx/archive_rules.py": "tests/cli/test_access.py",
    "nwx/archive_work.py": "tests/unit/test_archive.py",
    "nwx/engine/indices": "tests/conformance/test_quality.py",
    "nwx/engine/inlinks": "tests/conformance/test_inlinks.py",
    "nwx/engine/capabilities.py": "tests/conformance",
    "nwx/engine/sqlite_files.py": "tests/unit/engine/embedded/entries/test_crawl_index.py",
    "nwx/engine/search_server": "tests/conformance",
    "nwx/engine/embedded": "tests/conformance",
    "nwx/searching/suggestions.py": "tests/conformance/test_corrections.py",
    "nwx/extract/office": "tests/unit/extract/office/test_payload.py",
    "nwx/extract/soup.py": "tests/unit/extract/test_page.py",
    "nwx/facets": "tests/conformance/test_facets.py",
    "nwx/jobs/dedup_lists.py": "tests/spark/test_lists.py",
    "nwx/jobs/facets.py": "tests/spark/test_facets.py",
    "nwx/links": "tests/conformance/test_inlinks.py",
    "nwx/model.py": "tests/unit",
    "nwx/quality/browser": "tests/rendering/test_browser_pool.py",
    "nwx/quality/playback_check.py": "tests/conformance/test_check_playback.py",
    "nwx/steering/adapters/scrapy_scheduler.py": "tests/crawling/test_steered_scrapy.py",
    "nwx/steering/analysis_process.py": "tests/unit/steering/test_steering_run.py",
    "nwx/steering/specifications/parts.py": (
        "tests/unit/steering/specifications/test_specification_files.py"
    ),
    "nwx/warc/zip_entries.py": "tests/unit/warc/test_wacz.py",
    "nwx/steering/comparison/comparison.py": "tests/conformance/test_compare.py",
    "nwx/steering/comparison/comparison_json.py": "tests/conformance/test_compare.py",
    "nwx/steering/comparison/quality.py": "tests/conformance/test_compare.py",
    "webapp": "tests/web",
}
"""Tests of modules without a unit test: records, interfaces, and what needs a real server, a
browser or a complete archive."""


@pytest.fixture(scope="module")
def trees() -> Trees:
    """The parsed modules."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _public_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module, except functions that handle a route and are named after it."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not any("blueprint" in ast.unparse(each) for each in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_a_public_name_is_defined_in_one_module(trees: Trees) -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        for name in _public_names(tree):
            if not name.startswith("_"):
                places[name].add(_name(path))
    several = {name: sorted(found) for name, found in places.items() if len(found) > 1}
    wrong = {name for name in several if not _is_of_engines(several[name])} - set(SHARED_NAMES)
    assert {name: several[name] for name in wrong} == {}
    assert set(SHARED_NAMES) <= set(several), "a name that is no longer shared"


def _is_of_engines(paths: list[str]) -> bool:
    """Return whether a name is defined once in each engine."""
    others = [path for path in paths if not path.startswith(ENGINES)]
    counts = [sum(path.startswith(engine) for path in paths) for engine in ENGINES]
    return counts == [1, 1] and not others


def test_modules_are_named_by_nouns() -> None:
    gerunds = [
        path for path in MODULES if path.stem.endswith("ing") and path.stem not in NOT_GERUNDS
    ]
    assert [_name(path) for path in gerunds] == []


def test_modules_are_short() -> None:
    lines = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_functions_are_short(trees: Trees) -> None:
    long = [
        f"{_name(path)}, {node.name}: {size} lines"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (size := _code_lines(node)) > MOST_FUNCTION_LINES
    ]
    assert long == []


def _code_lines(function: ast.FunctionDef) -> int:
    """Return the number of lines of a function after its signature and docstring."""
    documented = ast.get_docstring(function) is not None
    body = function.body[1:] if documented else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_a_folder_is_easy_to_look_through() -> None:
    counts: dict[str, int] = defaultdict(int)
    for path in MODULES:
        if path.stem != "__init__":
            counts[_name(path.parent)] += 1
    crowded = {folder: count for folder, count in counts.items() if count > MOST_MODULES}
    assert {folder: crowded[folder] for folder in crowded if folder not in CROWDED} == {}


def test_what_is_public_is_documented(trees: Trees) -> None:
    methods = _documented_methods(trees)
    missing = {
        _name(path): [
            *([] if ast.get_docstring(tree) or not tree.body else ["the module"]),
            *_undocumented(tree.body, "", set(), methods),
        ]
        for path, tree in trees.items()
    }
    assert {name: found for name, found in missing.items() if found} == {}


def _undocumented(
    body: list[ast.stmt], within: str, inherited: set[str], methods: Mapping[str, set[str]]
) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None and node.name not in inherited:
            yield f"{within}{node.name}"
        if isinstance(node, ast.ClassDef):
            known = {name for base in node.bases for name in methods[_class(base)]}
            yield from _undocumented(node.body, f"{node.name}.", known, methods)


def _class(base: ast.expr) -> str:
    return ast.unparse(base).partition("[")[0]


def _documented_methods(trees: Trees) -> dict[str, set[str]]:
    """Return the names of the documented methods of each class, including inherited ones."""
    found: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
                found[node.name] |= {each.name for each in methods if ast.get_docstring(each)}
                bases[node.name] |= {_class(base) for base in node.bases}
    return defaultdict(set, {name: _inherited(name, found, bases) for name in found})


def _inherited(name: str, found: Mapping[str, set[str]], bases: Mapping[str, set[str]]) -> set[str]:
    above = (_inherited(base, found, bases) for base in bases.get(name, ()) if base in found)
    return found[name].union(*above)


def test_every_module_has_a_unit_test() -> None:
    without = [_name(path) for path in MODULES if not _has_test(path)]
    named = {name: place for name in without for place in TESTED_ELSEWHERE if _within(name, place)}
    assert [name for name in without if name not in named] == []
    assert set(TESTED_ELSEWHERE) == set(named.values()), "a place that has unit tests by now"
    assert [path for path in TESTED_ELSEWHERE.values() if not (ROOT / path).exists()] == []


def _within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}/")


def _has_test(path: Path) -> bool:
    inside = path.relative_to(ROOT)
    if path.stem == "__init__" or inside.parts[:2] == ("nwx", "cli"):
        return True  # commands are tested by running them: tests/cli
    if inside.parts[0] == "nwx":
        inside = inside.relative_to("nwx")
    return (ROOT / "tests" / "unit" / inside.parent / f"test_{path.stem}.py").exists()
