"""Arguments of wrong types are refused with what is allowed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nwx
from nwx.archive import Archive
from nwx.engine.access.rules import Viewer
from nwx.engine.base import open_engine
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.arguments import OptionValues, check_method_arguments


class _Base:
    def inherited(self, name: str) -> str:
        """Return an argument."""
        return name


@check_method_arguments
class _Checked(_Base):
    def ask(
        self,
        query: str = "",
        *,
        limit: int | None = None,
        weight: float = 1,
        names: str | Sequence[str] = (),
        files: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        where: Mapping[str, OptionValues] | Sequence[str] = (),
        other: "Path | None" = None,
        **filters: OptionValues,
    ) -> tuple[object, ...]:
        """Return arguments."""
        return query, limit, weight, names, files, where, other, filters


@pytest.mark.parametrize(
    "named",
    [
        {"limit": np.int64(3), "weight": np.float32(2)},
        {"limit": None, "weight": 2},
        {"names": ("a", "b")},
        {"names": {"a"}},
        {"names": iter("ab")},
        {"files": [Path("a"), "b"]},
        {"where": {"year": np.array([2010])}},
        {"where": {"year": 2010, "tld": ["org"]}},
        {"year": np.int64(2010), "type": ["html", "pdf"]},
        {"other": 5},
    ],
)
def test_arguments_of_right_types_are_passed(named: dict[str, Any]) -> None:
    assert _Checked().ask("lamp", **named)[0] == "lamp"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"query": 5}, "query is 5; it must be a text"),
        ({"query": None}, "query is None; it must be a text"),
        ({"limit": "5"}, "limit is '5'; it must be a whole number"),
        ({"limit": 1.5}, "limit is 1.5; it must be a whole number"),
        ({"weight": "x"}, "weight is 'x'; it must be a number"),
        ({"names": 5}, "names is 5; it must be a text or a list of texts"),
        ({"names": [5]}, r"names is \[5\]; it must be a text or a list of texts"),
        ({"names": b"x"}, "names is b'x'; it must be a text or a list of texts"),
        ({"files": 5}, "it must be a text or a path or a list of texts or paths"),
        ({"where": {"year": 1.5}}, "it must be a mapping or a list of texts"),
        ({"year": 1.5}, "year is 1.5; it must be a text or a whole number or a list of"),
    ],
)
def test_arguments_of_wrong_types_are_refused(named: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _Checked().ask(**named)


def test_inherited_methods_and_positions_are_checked() -> None:
    wrong: Any = 5
    for call in (_Checked().inherited, _Checked().ask):
        with pytest.raises(UsageError, match="is 5; it must be a text"):
            call(wrong)
    assert _Base().inherited(wrong) == 5


def test_missing_and_unknown_arguments_are_errors_of_python() -> None:
    nothing: dict[str, Any] = {}
    with pytest.raises(TypeError, match="missing 1 required"):
        _Checked().inherited(**nothing)
    with pytest.raises(TypeError, match="takes from 1 to 2 positional"):
        _Checked().ask("a", *["b"])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda archive: archive.search(5), "query is 5; it must be a text"),
        (lambda archive: archive.pictures(colour="blu"), "there is no colour 'blu'; use black"),
        (lambda archive: archive.pictures(year="abc"), "'abc' is not a year; write four digits"),
        (lambda archive: archive.pictures(offset=-1), "both are 0 or more"),
        (lambda archive: archive.pictures(offset=20_000)[:1], "only the first 10,000 pictures can"),
        (lambda archive: archive.links("x.example", year="abc"), "year is 'abc'; it must be a"),
        (lambda archive: archive.similar_pictures(-1), "hash is -1; it must be a whole number"),
        (lambda archive: archive.captures(filter=[1]), r"filter is \[1\]; it must be a text or"),
        (lambda archive: archive.captures(filter=["=status:200", "zz"]), "filter is 'zz'; write "),
        (lambda archive: archive.search(snippets="no"), "snippets is 'no'; it must be True or F"),
        (lambda archive: archive.captures(columns="zz"), "columns has an unknown field 'zz'"),
        (lambda archive: list(archive.due(shortest=-1)), "shortest is -1; it must be above 0"),
        (lambda archive: archive.add_rule("embargo", "x", years="1"), "years is '1'; it must be a"),
        (lambda archive: [*archive.export_queue("", "x", 1, 0, take=False)], "there is no 'x'"),
        (lambda archive: archive.export_digests("x"), "path is 'x'; it must be a pathlib.Path"),
        (lambda archive: archive.qrels("x"), "x cannot be read: No such file or directory"),
        (lambda archive: archive.search("lamp").page("a"), "offset is 'a'; it must be a whole"),
        (lambda archive: archive.search("lamp").scroll(-1), "limit is -1; it must be 0 or more"),
        (lambda archive: archive.search("lamp").explain(-1), "limit is -1; it must be 0 or more"),
        (lambda archive: archive.search("lamp").write("x", "txt", "url"), "must be a list of text"),
        (lambda archive: archive.dump("word"), "there is no 'word'; choose one of documents"),
        (lambda archive: archive.export_links("l", formats=["x"]), "there is no format 'x'"),
        (lambda archive: archive.import_("x", jobs="a"), "jobs is 'a'; it must be a whole number"),
        (lambda archive: archive.import_("x", job=1), "there is no option 'job'; use collection"),
        (lambda _: nwx.open("x", prefix=5), "prefix is 5; it must be a text"),
        (lambda _: nwx.open("x", viewer=Viewer(role="x")), "there is no 'x'; choose one of r"),
        (lambda _: nwx.open("x", viewer=Viewer(address=5)), "address is 5; it must be a text"),
        (lambda _: nwx.records(5), "files is 5; it must be a text or a path"),
        (lambda _: nwx.dedup_cdx("x", "y", key="x"), "there is no 'x'; choose one of url"),
        (lambda _: nwx.zipnum.build(5, ["a"]), "folder is 5; it must be a text or a path"),
        (lambda _: nwx.zipnum.build("x", [], shards=0), "shards is 0, lines 3000; both must be 1"),
        (lambda _: nwx.zipnum.build("x", [], lines=0), "shards is 1, lines 0; both must be 1 or"),
    ],
)
def test_the_public_api_refuses_wrong_arguments(
    ask: Callable[[Archive], object], message: str, tmp_path: Path
) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
    with nwx.open(tmp_path / "archive") as archive, pytest.raises(nwx.NwxError, match=message):
        ask(archive)


def test_one_user_of_a_rule_is_a_text(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        rule = Archive.over(engine).add_rule("local", "x", users="bob", addresses="10.0.0.1")
    assert (rule.users, rule.addresses) == (("bob",), ("10.0.0.1/32",))
