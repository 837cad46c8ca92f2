"""Archives with pages of a hidden host, and the decisions that hide it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nwx.engine.access.decisions import AccessRules, Decisions
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope, checked_rule
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.keys import capture_id
from nwx.model import Capture
from tests.conformance.archive import batch, page

SHOWN, HIDDEN = "http://shown.test/", "http://hidden.test/"
PAGES = {
    url: page(url, "2010", f"text of {url}")
    for url in (f"{SHOWN}1", f"{SHOWN}2", f"{HIDDEN}1", f"{HIDDEN}2")
}


def hiding(action: Action = Action.EXCLUDE, scope: Scope | None = None) -> Decisions:
    """Return decisions that hide a scope, by default the host of HIDDEN."""
    rule = checked_rule(AccessRule("", action, scope or Scope(prefix="test,hidden)/")))
    return AccessRules([rule], "1").for_viewer(EVERYBODY)


@contextmanager
def archive_of_pages(path: Path) -> Iterator[Engine]:
    """Yield an archive with PAGES."""
    with EmbeddedEngine(path) as engine:
        engine.write(batch(PAGES.values()))
        engine.refresh()
        yield engine


def id_of_capture(one: Capture) -> str:
    """Return the id of a capture."""
    return capture_id(one.collection, one.source_file, one.source_file_offset)
