"""The kinds of options that commands have; `into` is the parameter, if not named as the option."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import click
from click.decorators import FC

from nwx.model import DEFAULT_COLLECTION

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
PLACE = click.Path(path_type=Path)


class Decorator(Protocol):
    """Adds an option, or several, to a command."""

    def __call__(self, command: FC, /) -> FC: ...


def _option(name: str, into: str, **given: Any) -> Decorator:
    """Return a click option; None values are left to click."""
    names = (name, into) if into else (name,)
    return click.option(*names, **{key: one for key, one in given.items() if one is not None})


def option_set(*options: Decorator) -> Decorator:
    """Return a decorator that adds options in this order."""

    def decorate(command: FC) -> FC:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


def flag(name: str, help: str, into: str = "") -> Decorator:
    """Return an option without a value."""
    return _option(name, into, is_flag=True, help=help)


def string(
    name: str,
    metavar: str,
    help: str,
    into: str = "",
    *,
    default: str | None = "",
    **more: Any,
) -> Decorator:
    """Return an option for a text, empty by default."""
    return _option(name, into, metavar=metavar, help=help, default=default, **more)


def repeated(name: str, metavar: str, help: str, into: str = "", **more: Any) -> Decorator:
    """Return an option for a text that may be repeated."""
    return _option(name, into, metavar=metavar, help=help, multiple=True, **more)


def value(
    name: str,
    type: "click.ParamType[Any]",
    metavar: str | None,
    help: str,
    into: str = "",
    *,
    default: Any = None,
    **more: Any,
) -> Decorator:
    """Return an option for a value of a type; its default is shown."""
    shown = {"show_default": True} if default is not None else {}
    given = {"type": type, "metavar": metavar, "help": help, "default": default}
    return _option(name, into, **given | shown | more)


def count(
    name: str, metavar: str | None, help: str, into: str = "", *, default: int | None = None
) -> Decorator:
    """Return an option for a number from 1."""
    return value(name, click.IntRange(1), metavar, help, into, default=default)


def choice_of(
    name: str, values: Iterable[Any], help: str, into: str = "", *, default: str | None = None
) -> Decorator:
    """Return an option for one of several values."""
    return value(name, click.Choice(tuple(values)), None, help, into, default=default)


JSON = flag("--json", "Print JSON.", into="as_json")
CSV = flag("--csv", "Print CSV.", into="as_csv")
QUIET = flag("--quiet", "Show only errors.")
NO_PROGRESS = flag("--quiet", "Show no progress.")
JSON_REPORT = option_set(flag("--json", "Print the report as JSON.", into="as_json"), QUIET)
INTO_COLLECTION = string(
    "--collection",
    "NAME",
    "Collection of the captures.",
    default=DEFAULT_COLLECTION,
    show_default=True,
)
FILE_JOBS = count("--jobs", "N", "Files to read in parallel.  [default: number of cores]")
