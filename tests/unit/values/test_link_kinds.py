"""Kinds of links."""

from nwx.values.link_kinds import EMBEDDED, KINDS, present_kind


def test_kinds_of_older_archives_are_those_of_now() -> None:
    assert [present_kind(kind) for kind in ("iframe", "source", "body", "meta", "a")] == [
        "frame",
        "media",
        "img",
        "refresh",
        "a",
    ]
    assert all(present_kind(kind) == kind for kind in KINDS)


def test_pages_are_not_embedded() -> None:
    assert not {"a", "area", "form", "refresh", "canonical", "alternate", "link"} & EMBEDDED
