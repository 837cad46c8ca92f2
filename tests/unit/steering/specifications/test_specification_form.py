"""A crawl specification as form fields, in addition to its text."""

from dataclasses import replace

import pytest

from nwx.steering.specifications.specification_files import (
    form_of_text,
    read_specification,
    text_with_form,
)

_TOML = """
name = "harbours"
seeds = ["http://a.example/"]
keywords = ["lamp", {text = "ferry", weight = 2.0}]
[[entities]]
name = "Harbour Museum"
[[rules]]
action = "blacklist"
hosts = ["ads.example"]
[[rules]]
action = "prefer"
surts = ["example,b)/"]
[thresholds]
relevant = 0.3
"""
_JSON = '{"name": "harbours", "keywords": ["lamp"]}'


def test_a_text_becomes_a_form() -> None:
    form = form_of_text(_TOML)
    assert form
    assert (form.name, form.seeds, form.keywords) == (
        "harbours",
        "http://a.example/",
        "lamp\nferry",
    )
    assert (form.preferred, form.blacklisted, form.relevant) == ("", "ads.example", "0.3")
    assert form_of_text("name = ") is None


@pytest.mark.parametrize("text", [_TOML, _JSON])
def test_a_form_unchanged_changes_nothing(text: str) -> None:
    form = form_of_text(text)
    assert form
    assert read_specification(text_with_form(text, form), "") == read_specification(text, "")


def test_what_is_not_in_the_form_is_kept() -> None:
    form = form_of_text(_TOML)
    assert form
    changed = replace(form, keywords="ferry\nquay", preferred="b.example", blacklisted="")
    found = read_specification(text_with_form(_TOML, changed), "")
    assert [(one.text, one.weight) for one in found.keywords] == [("ferry", 2.0), ("quay", 1.0)]
    assert [one.name for one in found.entities] == ["Harbour Museum"]
    assert [(one.action, one.hosts, one.surts) for one in found.rules] == [
        ("prefer", (), ("example,b)/",)),
        ("prefer", ("b.example",), ()),
    ]


def test_other_examples_have_other_words() -> None:
    text = 'name = "x"\nlike = ["http://a.example/"]\nlike_words = ["quay"]\n'
    form = form_of_text(text)
    assert form
    assert "quay" in text_with_form(text, replace(form, keywords="lamp"))
    assert "quay" not in text_with_form(text, replace(form, like="http://b.example/"))
