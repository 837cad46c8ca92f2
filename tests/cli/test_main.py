"""Behaviour shared by all commands."""

import inspect
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import click
import pytest

import nwx as package
from nwx.cli.main import COMMANDS, GROUPS, cli, command_named
from tests.cli.conftest import COMMAND, Nwx, environment, run_nwx
from tests.warcs import Page, html, write_warc


def test_the_list_of_commands_says_what_each_says_itself() -> None:
    for name, words in COMMANDS.items():
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(200).rstrip(".") == words.rstrip(".")


def test_every_option_has_help() -> None:
    for name in COMMANDS:
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.help, f"{name} {parameter.opts}"


def _commands(group: click.Group) -> Iterator[click.Command]:
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield command
            if isinstance(command, click.Group):
                yield from _commands(command)


SHARED = ("MonitorChoices",)
"""Dataclasses of options shared by several commands."""


def test_each_command_takes_the_options_that_it_declares() -> None:
    for command in _commands(cli):
        callback = inspect.unwrap(command.callback) if command.callback else None
        if callback is None:
            continue
        declared = {each.name for each in command.params if each.expose_value}
        signature = inspect.signature(callback).parameters
        named = {name for name, one in signature.items() if one.kind is not one.VAR_KEYWORD}
        options = [
            one
            for name, one in vars(inspect.getmodule(callback)).items()
            if is_dataclass(one) and (name in SHARED or re.fullmatch("_.*Options", name))
        ]
        gathered = {field.name for one in options for field in fields(one)}
        gathered |= set(vars(inspect.getmodule(callback)).get("SELECTION_OPTIONS", ()))
        gathered |= set(re.findall(r"given(?:\.pop\(|\[)\"(\w+)\"", inspect.getsource(callback)))
        catches_all = len(named) < len(signature)
        if not catches_all:
            assert named - {"settings", "context"} == declared, command.name
        elif options:
            assert gathered >= declared - named, command.name


def test_help_and_version(nwx: Nwx) -> None:
    assert nwx("--version").out == f"nwx {package.__version__}\n"
    assert all(name in nwx("--help").out for name in COMMANDS)
    assert "Usage: nwx import" in nwx("import", "-h").out


def test_help_loads_no_engine() -> None:
    code = "import sys, nwx.cli.main; print(*sys.modules)"
    done = subprocess.run(
        [str(Path(COMMAND).parent / "python"), "-c", code], capture_output=True, check=True
    )
    loaded = done.stdout.decode().split()
    assert not {"tantivy", "elastic_transport", "flask", "bs4", "nwx.engine.base"} & set(loaded)


def test_wrong_use_ends_with_2(nwx: Nwx) -> None:
    assert "No such command" in nwx("impart", code=2).err
    assert "NWX_SHARDS is 'many'" in nwx("stats", code=2, NWX_SHARDS="many").err
    assert "timeout is '-1'" in nwx("--timeout=-1", "stats", code=2).err
    assert "is not an address" in nwx("--engine", "http://[", "stats", code=2).err
    assert "https:// address" in nwx("serve", "--search-url", "zz", code=2).err
    assert "need --redis-port" in nwx("serve", "--database", "1=a", code=2).err


def test_mistakes_get_hints(nwx: Nwx) -> None:
    assert "Did you mean 'search'?" in nwx("serach", code=2).err
    assert "nwx --help" in nwx("xyzzy", code=2).err
    assert (
        "goes before the command: nwx --engine PLACE" in nwx("stats", "--engine", "x", code=2).err
    )
    unknown = nwx("--engine", "ftp://x", "stats", code=2).err
    assert "unknown scheme 'ftp'" in unknown


def test_help_lists_commands_in_groups(nwx: Nwx) -> None:
    lines = nwx("--help").out.splitlines()
    places = [lines.index(f"{group}:") for group in GROUPS]
    assert places == sorted(places)
    assert set(COMMANDS) <= {line.split()[0] for line in lines if line.startswith("  ")}


@pytest.mark.parametrize(
    ("words", "offered"), [("nwx sea", "search"), ("nwx search --ye", "--year")]
)
def test_a_shell_can_complete(tmp_path: Path, words: str, offered: str) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ran = run_nwx(tmp_path, _NWX_COMPLETE="bash_complete", **asked)
    assert f"plain,{offered}" in ran.out.splitlines()
    assert "_nwx_completion" in run_nwx(tmp_path, _NWX_COMPLETE="bash_source").out


@pytest.mark.parametrize("command", ["stats", "check", "files", "search"])
def test_an_archive_that_is_not_there_is_an_error(nwx: Nwx, command: str) -> None:
    ran = nwx(command, code=1)
    assert ran.out == ""
    assert ran.err.startswith("nwx: ")
    assert "Traceback" not in ran.err


def test_a_server_that_is_away_is_an_error(nwx: Nwx, warc: Path) -> None:
    for arguments in (("stats",), ("search", "x"), ("import", warc)):
        ran = nwx("--engine", "http://127.0.0.1:9", "--timeout", "2", *arguments, code=1)
        assert "127.0.0.1:9" in ran.err
        assert "Traceback" not in ran.err


def test_a_reader_that_left_is_no_error(quarry: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        [COMMAND, "dump", "captures"],
        env=environment(quarry),
        stdout=write,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(write)
        _, err = process.communicate(timeout=60)
    assert err == b""
    assert process.returncode == 0


def test_modules_of_commands_are_loaded_by_name() -> None:
    for name in COMMANDS:
        assert command_named(name).name == name


def test_wrong_queries_show_the_place(quarry: Path) -> None:
    ran = run_nwx(quarry, "search", "stone AND (slate", code=2)
    first, query, caret = ran.err.splitlines()
    assert first.startswith("nwx: ")
    assert query == "  stone AND (slate"
    assert caret.strip() == "^"


def test_mistakes_are_answered_with_what_may_be_meant(nwx: Nwx, tmp_path: Path) -> None:
    nwx(
        "import",
        write_warc(
            tmp_path / "a.warc.gz", [Page("http://a.example/", "20100101000000", html("A", "a"))]
        ),
    )
    asked = nwx("users", "add", "ann", "--role", "admin", code=2)
    assert "Did you mean 'administrator'?" in asked.err
    nothing = nwx("facets", "--by", "type", "--where", "type=pdfx")
    assert "no capture matches type=pdfx; `nwx facets --by type` lists" in nothing.err
    assert "needs a QUERY" in nwx("wacz", tmp_path / "a.wacz", "--limit", 1, code=2).err
    assert nwx("wacz", tmp_path / "a.wacz", "*", "--limit", 1).out.startswith("1 capture of 1 file")


def test_options_without_effect_are_refused(nwx: Nwx) -> None:
    for option in (("--sort", "bytes"), ("--order", "asc")):
        assert "need --by" in nwx("facets", *option, code=2).err
    for command in (("facets",), ("changes", "a.example")):
        ran = nwx(*command, "--csv", "--json", code=2)
        assert "--csv and --json are mutually exclusive" in ran.err
    assert "wget reads no CDXJ" in nwx("cdx", "--cdxj", "--fields", "wget", "a", code=2).err
