"""Any crawl specification survives a round trip through TOML and through JSON."""

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.errors import SpecificationError
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    DueInterval,
    Entity,
    EntityKind,
    Keyword,
    Limits,
    LinkRule,
    RuleAction,
    ScoreWeights,
    Thresholds,
)
from nwx.steering.specifications.specification_files import read_specification, write_specification

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True).filter(
    lambda name: name.lower() not in ("new", "compare")
)
WORDS = st.text(max_size=40).map(lambda text: f"x{text}y").filter(str.isprintable)
NUMBERS = st.floats(0.001, 1_000)
HOSTS = st.from_regex(r"[a-z][a-z0-9-]{0,9}[a-z]\.(org|example|co\.uk)", fullmatch=True)
SEEDS = st.builds("https://{}/{}".format, HOSTS, st.from_regex(r"[a-z/]{0,9}", fullmatch=True))
WEIGHTS = st.builds(ScoreWeights, *[st.floats(0, 1_000)] * 4, st.just(1.0))


def lists(of: st.SearchStrategy[object], most: int = 4) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=most, unique=True).map(tuple)


KEYWORDS = st.builds(Keyword, WORDS, NUMBERS, st.sampled_from(["", "de", "en"]))
ENTITIES = st.builds(
    Entity,
    WORDS,
    lists(WORDS.map(lambda text: f"{text}.")),
    st.sampled_from(EntityKind),
    st.text(max_size=20).map(str.strip).filter(str.isprintable),
    NUMBERS,
)
RULES = st.builds(
    LinkRule,
    st.just(RuleAction.BLACKLIST),
    lists(st.sampled_from(["/cal/", r"\d{4}", '"', "[?&]sid=", "ü\n"])),
    lists(st.sampled_from(["org,example)/a", "http://(org,example,)/b"])),
    st.lists(HOSTS, min_size=1, max_size=3).map(tuple),
)
SPECIFICATIONS = st.builds(
    CrawlSpecification,
    name=NAMES,
    seeds=st.just(()),
    keywords=st.lists(KEYWORDS, max_size=4, unique_by=lambda one: one.text.casefold()).map(tuple),
    entities=st.lists(ENTITIES, max_size=4, unique_by=lambda one: one.name.casefold()).map(tuple),
    rules=st.lists(RULES, max_size=3).map(tuple),
    limits=st.builds(
        Limits, *[st.none() | st.integers(0, 10**15)], *[st.none() | st.integers(1, 10**15)] * 2
    ),
    weights=WEIGHTS,
    thresholds=st.builds(Thresholds, st.floats(0, 1), st.floats(0, 1)),
    intervals=st.lists(st.builds(DueInterval, NUMBERS, hosts=st.tuples(HOSTS)), max_size=3).map(
        tuple
    ),
    collection=st.from_regex(r"[A-Za-z0-9._-]{0,20}", fullmatch=True),
    queue=st.just("") | SEEDS,
)


@pytest.mark.parametrize("form", ["toml", "json"])
@given(specification=SPECIFICATIONS)
@settings(deadline=None)
def test_what_is_written_is_read(
    specification: CrawlSpecification, form: Literal["toml", "json"]
) -> None:
    found = read_specification(write_specification(specification, form), "x")
    assert found == specification
    assert found.version() == specification.version()


@given(text=st.text() | st.text(alphabet="[]{}=\"'.,\n #a1-", max_size=60))
@settings(deadline=None)
def test_any_text_is_a_specification_or_an_error_of_one(text: str) -> None:
    try:
        read_specification(text, "x")
    except SpecificationError as error:
        assert error.problems
