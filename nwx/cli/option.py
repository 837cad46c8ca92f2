"""Builders of command options; `into` is the parameter's name if it differs from the option's."""

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

import click
from click.decorators import FC

from nwx.cli.output import EXCEL
from nwx.model import DEFAULT_COLLECTION

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
PLACE = click.Path(path_type=Path)
TEXT_FILE = click.File(encoding="utf-8", errors="replace")


class HintedChoice(click.Choice[str]):
    """One of several values; error messages suggest the nearest valid value."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return a message with the values, and the one that begins with or resembles the input."""
        from difflib import get_close_matches

        text = str(value).lower()
        begun = [one for one in self.choices if text and one.startswith(text)]
        near = begun or get_close_matches(text, self.choices, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return super().get_invalid_choice_message(value, ctx) + hint


class Number(click.FloatRange):
    """A finite number in a range; click's ranges would accept NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; fails on anything else."""
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class Decorator(Protocol):
    """A decorator that adds one or more options to a command."""

    def __call__(self, command: FC, /) -> FC: ...


def _option(name: str, into: str, **given: Any) -> Decorator:
    """Return a click option with one or two names (`-e --exclude`); click's default for None."""
    names = (*name.split(), into) if into else name.split()
    return click.option(*names, **{key: one for key, one in given.items() if one is not None})


def option_set(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order."""

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


def seconds(
    name: str, help: str, into: str = "", *, default: float | None = None, least: float = 0
) -> Decorator:
    """Return an option for a time in seconds."""
    return value(name, Number(least), "SECONDS", help, into, default=default)


def above_zero(
    name: str, metavar: str | None, help: str, *, default: float | None = None
) -> Decorator:
    """Return an option for a number above 0."""
    return value(name, Number(0, min_open=True), metavar, help, default=default)


def whole_number(
    name: str, metavar: str | None, help: str, *, default: int | None = None, least: int = 0
) -> Decorator:
    """Return an option for a whole number, at least `least`."""
    return value(name, click.IntRange(least), metavar, help, default=default)


def file_path(name: str, help: str, into: str = "", metavar: str = "FILE") -> Decorator:
    """Return an option for a file, which may not exist yet."""
    return value(name, FILE, metavar, help, into)


def _check_web_address(_: click.Context, __: click.Parameter, given: str) -> str:
    if given and not given.startswith(("http://", "https://")):
        raise click.BadParameter(f"{given!r} is not an http:// or https:// address.")
    return given


def web_address(name: str, help: str) -> Decorator:
    """Return an option for an address of a service, empty by default."""
    return string(name, "URL", help, callback=_check_web_address)


def count(
    name: str, metavar: str | None, help: str, into: str = "", *, default: int | None = None
) -> Decorator:
    """Return an option for a whole number, at least 1."""
    return value(name, click.IntRange(1), metavar, help, into, default=default)


def choice_of(
    name: str, values: Iterable[Any], help: str, into: str = "", *, default: str | None = None
) -> Decorator:
    """Return an option for one of several values."""
    shown = [str(one) for one in values]
    return value(name, HintedChoice(shown), None, help, into, default=default and str(default))


JSON = flag("--json", "Print JSON.", into="as_json")


def _note_excel(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        context.meta[EXCEL] = True


CSV = option_set(
    _option(
        "--csv",
        "as_csv",
        is_flag=True,
        callback=lambda context, _, given: given or EXCEL in context.meta,
        help="Print CSV.",
    ),
    _option(
        "--excel",
        "",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_excel,
        help="Print CSV with a byte order mark, for Excel.",
    ),
)
QUIET = flag("--quiet", "Show only errors.")
NO_PROGRESS = flag("--quiet", "Show no progress.")
JSON_REPORT = option_set(flag("--json", "Print JSON.", into="as_json"), QUIET)
INTO_COLLECTION = string(
    "--collection",
    "NAME",
    "Collection of the captures.",
    default=DEFAULT_COLLECTION,
    show_default=True,
)
FILE_JOBS = count("--jobs", "N", "Files to read in parallel.  [default: number of cores]")
