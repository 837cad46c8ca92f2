"""What commands show of an archive with access rules."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nwx.cli import check, dump
from nwx.cli.restricted import (
    UNRESTRICTED,
    as_shown,
    names_no_hidden_url,
    open_for_reading,
    telling_visible,
)
from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.quality.quality_index import PlaybackScore
from nwx.model import IndexName
from nwx.settings import Settings
from tests.unit.access.restricted.archives import HIDDEN, PAGES, SHOWN, archive_of_pages
from tests.unit.access.restricted.test_quality import score

_RULE = AccessRule("", Action.EXCLUDE, Scope(prefix="test,hidden)/"), reason="law")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An archive with a rule that hides half of its pages."""
    with archive_of_pages(tmp_path / "archive") as engine:
        engine.access_index().put([_RULE], "tester")
    return Settings(str(tmp_path / "archive"))


def under(settings: Settings, command: click.Command | Callable[[], None], *given: str) -> str:
    """Return what a command prints below the global option."""

    @click.group()
    @click.option(f"--{UNRESTRICTED}", is_flag=True)
    @click.pass_context
    def root(ctx: click.Context, unrestricted: bool) -> None:
        del unrestricted
        ctx.obj = settings

    called = command if isinstance(command, click.Command) else click.command("run")(command)
    root.add_command(called, "run")
    done = CliRunner().invoke(root, list(given), catch_exceptions=False)
    return done.output


def test_commands_show_what_everybody_sees_or_all_of_it(settings: Settings) -> None:
    def run() -> None:
        with open_for_reading(settings) as engine:
            click.echo(engine.count(IndexName.DOCUMENTS))

    assert under(settings, run, "run") == "2\n"
    assert under(settings, run, f"--{UNRESTRICTED}", "run") == "4\n"
    assert "hidden.test" not in under(settings, dump.command, "run", "documents")
    assert under(settings, dump.command, "run", "access") == ""
    assert "test,hidden)/" in under(settings, dump.command, f"--{UNRESTRICTED}", "run", "access")


def test_an_archive_without_rules_is_shown_itself(tmp_path: Path) -> None:
    with archive_of_pages(tmp_path / "archive") as engine:
        assert as_shown(engine) is engine
        assert names_no_hidden_url(engine, f"{HIDDEN}1: away")


def test_messages_and_scores_of_hidden_pages_are_not_told(settings: Settings) -> None:
    told: list[PlaybackScore] = []
    with EmbeddedEngine(Path(settings.engine)) as engine:
        assert not names_no_hidden_url(engine, f"'{HIDDEN}1': cannot be read")
        assert names_no_hidden_url(engine, f"{SHOWN}1: cannot be read")
        tell = telling_visible(engine, told.append)
        for url in PAGES:
            tell(score(url, 0.5))
    assert {one.url for one in told} == {f"{SHOWN}1", f"{SHOWN}2"}


def test_a_check_counts_and_names_nothing_where_rules_hide_captures(settings: Settings) -> None:
    with EmbeddedEngine(Path(settings.engine)) as engine:
        gone = PAGES[f"{HIDDEN}1"].capture.document_id
        engine.delete(IndexName.DATES, [gone])
    printed = under(settings, check.command, "run", "--quiet")
    assert gone not in printed
    assert "--unrestricted check" in printed
    assert "disagreement" in printed
    assert gone in under(settings, check.command, f"--{UNRESTRICTED}", "run", "--quiet")
