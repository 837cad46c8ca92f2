"""A command loads only the libraries it needs: loading takes most of a short run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nwx.cli.main import COMMANDS
from tests.cli.conftest import QUARRY, environment

ENGINES = ("tantivy", "sqlite3", "elastic_transport")
ARRAYS = ("numpy", "polars", "pyarrow", "pandas", "pyspark")
FORMATS = ("warcio", "fastwarc", "lxml", "bs4", "selectolax", "resiliparse", "isal", "surt")
PAGES = ("flask", "jinja2", "waitress", "granian", "pywb", "gevent", "requests", "vl_convert")
QUERIES = ("luqum", "luqum.parser", "rapidfuzz", "re2", "publicsuffixlist")
DRAWING = ("rich", "rich.progress")
OTHERS = ("msgspec", "cachetools", "multiprocessing", "concurrent.futures", "asyncio")
OURS = tuple(
    f"nwx.{name}"
    for name in (
        "query.question",
        "engine.indices.crawl_index",
        "engine.indices.picture_index",
        "engine.indices.quality_index",
        "engine.indices.crawl_queue",
        "engine.facet_store",
        "engine.embedded.writer",
        "access.restricted_engine",
        "searching.answers",
    )
)
HEAVY = (*ENGINES, *ARRAYS, *FORMATS, *PAGES, *QUERIES, *DRAWING, *OTHERS, *OURS)

_RUN = """
import json, sys
from nwx.cli.main import main
sys.argv[0] = "nwx"
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(engine: Path, *arguments: str, code: int = 0) -> set[str]:
    """Return the heavy libraries that a run of the command loads."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments],
        env=environment(engine),
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr.decode()
    return set(json.loads(done.stderr.splitlines()[-1])) & set(HEAVY)


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_help_loads_none_of_them(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert loaded(tmp_path, *arguments, "--help") == set()


def test_a_misspelt_command_loads_none_of_them(tmp_path: Path) -> None:
    assert loaded(tmp_path, "serach", code=2) == set()


@pytest.mark.parametrize("command", [("stats",), ("files",), ("dates", "list"), ("dump", "files")])
def test_lists_load_the_engine_only(quarry: Path, command: tuple[str, ...]) -> None:
    assert loaded(quarry, *command) <= {"sqlite3", "rich", "cachetools"}


@pytest.mark.parametrize(
    "command", [("show", f"{QUARRY.url} {QUARRY.digest}"), ("search", "slate")]
)
def test_searches_load_neither_pages_nor_formats_nor_the_other_engine(
    quarry: Path, command: tuple[str, ...]
) -> None:
    others = {*FORMATS, *PAGES, "elastic_transport", "polars", "rapidfuzz", "re2"}
    unused = {
        "rich.progress",
        "luqum.parser",
        "nwx.engine.embedded.writer",
        "nwx.access.restricted_engine",
    }
    assert loaded(quarry, *command) & (others | unused) == set()


def test_the_process_that_writes_an_import_loads_nothing_that_reads_pages(
    tmp_path: Path, warc: Path
) -> None:
    found = loaded(tmp_path / "archive", "import", str(warc))
    assert found & {*FORMATS, *PAGES, "polars", "elastic_transport"} <= {"isal"}


def test_extraction_loads_beautifulsoup_with_the_first_page_that_needs_it() -> None:
    code = (
        "import sys; from nwx.extract import extract\n"
        "for parser in ('fast', 'bs4'):\n"
        "    extract(b'<p>x', url='http://a/', content_type_norm='html', parser=parser)\n"
        "    print('bs4' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split() == ["False", "True"]
