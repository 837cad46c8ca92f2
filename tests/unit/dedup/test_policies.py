"""Originals allowed by a policy."""

from collections.abc import Iterator

import pytest

from nwx.dedup.policies import Fetched, FoundOriginal, Policy, find_original
from nwx.model import Capture
from tests.conformance.archive import capture, sha1

SAME = sha1("payload")
OWN, OTHER = "http://a.example/page", "http://b.example/copy"
CAPTURES = [
    capture(OWN, "2010", digest=SAME, source_file="old.warc.gz", collection="one"),
    capture(OWN, "2012", digest=SAME, source_file="new.warc.gz", collection="two"),
    capture(OTHER, "2014", digest=SAME, source_file="other.warc.gz"),
]
FETCHED = Fetched(SAME, "20150101000000", url=OWN)


def lookup(digest: str, urlkey: str) -> Iterator[Capture]:
    """Look up a digest in CAPTURES like an engine."""
    found = [one for one in CAPTURES if one.digest == digest and urlkey in ("", one.urlkey)]
    return iter(sorted(found, key=lambda one: one.timestamp, reverse=True))


def ask(policy: Policy, fetched: Fetched = FETCHED, gone: tuple[str, ...] = ()) -> FoundOriginal:
    """Return the original found by a policy when some files are missing."""
    return find_original(lookup, fetched, policy, lambda one: one.source_file not in gone)


def test_the_newest_of_the_same_url() -> None:
    assert ask(Policy()).original == CAPTURES[1]
    assert ask(Policy(), Fetched(SAME, "2015", url="https://WWW.a.example/page")).original


def test_another_url_only_where_the_policy_says_so() -> None:
    elsewhere = Fetched(SAME, "20150101000000", url="http://c.example/")
    assert ask(Policy(), elsewhere) == FoundOriginal(
        None, "no capture of this URL has this payload"
    )
    assert ask(Policy(any_url=True), elsewhere).original == CAPTURES[2]
    assert ask(Policy(any_url=True)).original == CAPTURES[1], "the same URL goes first"
    assert ask(Policy(), Fetched(SAME, "2015")).original == CAPTURES[2], "no URL is told"


def test_a_payload_that_nobody_holds() -> None:
    found = ask(Policy(any_url=True), Fetched(sha1("never met"), "2015"))
    assert found == FoundOriginal(None, "no capture has this payload")


@pytest.mark.parametrize(
    ("size", "least", "found"),
    [(None, 1000, True), (None, 1001, False), (5, 6, False), (7, 6, True)],
)
def test_small_payloads(size: int | None, least: int, found: bool) -> None:
    fetched = Fetched(SAME, "20150101000000", url=OWN, content_length=size)
    answer = ask(Policy(min_bytes=least), fetched)
    assert (answer.original is not None) is found
    assert found or f"fewer than {least}" in answer.reason


@pytest.mark.parametrize(
    ("told", "policy", "found"),
    [
        ("", Policy(mime_in=("text/*",)), True),
        ("", Policy(mime_in=("image/*", "video/*")), False),
        ("image/png", Policy(mime_in=("image/*",)), True),
        ("text/html", Policy(mime_out=("text/html",)), False),
        ("image/png", Policy(mime_out=("text/html",)), True),
    ],
)
def test_types(told: str, policy: Policy, found: bool) -> None:
    answer = ask(policy, Fetched(SAME, "20150101000000", url=OWN, content_type=told))
    assert (answer.original is not None) is found
    assert found or "are not deduplicated" in answer.reason


def test_originals_that_are_too_old() -> None:
    assert ask(Policy(max_age_days=1096)).original == CAPTURES[1]
    answer = ask(Policy(max_age_days=1095))
    assert answer == FoundOriginal(None, "the original is of 20120101000000, which is too old")
    assert ask(Policy(max_age_days=1e18)).original == CAPTURES[1], "older than time"


def test_originals_whose_file_has_gone() -> None:
    policy = Policy(original_there=True)
    assert ask(policy).original == CAPTURES[1]
    assert ask(policy, gone=("new.warc.gz",)).original == CAPTURES[0]
    answer = ask(policy, gone=("new.warc.gz", "old.warc.gz"))
    assert answer.reason == "the file of the original, new.warc.gz, is missing"
    assert ask(Policy(), gone=("new.warc.gz",)).original == CAPTURES[1], "if nobody looks"


def test_captures_of_other_collections_do_not_count() -> None:
    assert ask(Policy(collections=("one",))).original == CAPTURES[0]
    assert ask(Policy(collections=("three",))).original is None
