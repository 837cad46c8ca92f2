"""Words in anchor texts are found as in plain Python."""

import random
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nwx.engine.analyzer import tokens
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.inlinks.anchor_scores import AnchorWords
from nwx.engine.inlinks.anchor_table import NO_TARGET, AnchorBlobs, AnchorTable
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.links.parts import clean_anchor
from nwx.model import Batch
from nwx.query.tree import Bool, Fuzzy, Node, Phrase, Term, Wildcard
from nwx.values.urlkeys import urlkey
from nwx.values.urls import host_of_urlkey
from tests.links import random_batches

WORDS = ("home", "the", "annual", "report", "more", "here", "grosse", "日", "nowhere", "evil")
Uses = Mapping[str, Mapping[str, set[str]]]
"""Linking hosts by urlkey and anchor text."""


def _linked(path: Path, batches: list[Batch]) -> AnchorTable:
    with EmbeddedEngine(path) as engine:
        for batch in batches:
            engine.write(batch)
        engine.refresh()
        reopen = partial(EmbeddedEngine, path, read_only=True)
        invert_links(engine, reopen, InlinkBuildOptions(workers=1))
        table = AnchorBlobs(engine.inlink_index(), engine.dates).table()
    assert table is not None
    return table


def _uses(batches: list[Batch]) -> Uses:
    documents = [document for batch in batches for document in batch.documents]
    captured = {document.capture.urlkey for document in documents}
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for document in documents:
        source = document.capture.urlkey
        for link in document.extract.links:
            target = urlkey(link.url)
            if target in captured and target != source:
                found[target][clean_anchor(link.text)].add(host_of_urlkey(source))
    return found


def _matches(node: Node, texts: list[list[str]]) -> bool:
    match node:
        case Bool():
            met = all(_matches(part, texts) for part in node.must)
            if node.should and not node.must:
                met = any(_matches(part, texts) for part in node.should)
            return met and not any(_matches(part, texts) for part in node.must_not)
        case Term() | Phrase():
            wanted = tokens(node.text)
            return any(
                text[place : place + len(wanted)] == wanted
                for text in texts
                for place in range(len(text))
            )
    raise NotImplementedError(node)


def _random_node(chance: random.Random, depth: int = 0) -> Node:
    if depth == 2 or chance.random() < 0.4:
        if chance.random() < 0.3:
            return Phrase("", " ".join(chance.choices(WORDS, k=2)))
        return Term("", chance.choice(WORDS))
    parts = tuple(_random_node(chance, depth + 1) for _ in range(chance.randint(1, 3)))
    without = (_random_node(chance, depth + 1),) if chance.random() < 0.3 else ()
    if chance.random() < 0.5:
        return Bool(must=parts, must_not=without)
    return Bool(should=parts, must_not=without)


@pytest.mark.parametrize("seed", range(3))
def test_targets_are_those_of_a_brute_force(tmp_path: Path, seed: int) -> None:
    batches = random_batches(seed)
    table, uses = _linked(tmp_path / "archive", batches), _uses(batches)
    assert set(table.keys.all()) == set(uses)
    words = AnchorWords(table)
    chance = random.Random(seed)
    for _ in range(150):
        node = _random_node(chance)
        found = words.targets(node)
        assert sorted(found.tolist()) == found.tolist()
        expected = {
            key
            for key, texts in uses.items()
            if _matches(node, [list(tokens(text)) for text in texts])
        }
        assert {table.keys[one] for one in found.tolist()} == expected, node
        every = words.scores(node, np.arange(table.size))
        assert np.isfinite(every).all() and (every >= 0).all()


def test_patterns_ranges_and_likeness(tmp_path: Path) -> None:
    batches = random_batches(4)
    table, uses = _linked(tmp_path / "archive", batches), _uses(batches)
    words = AnchorWords(table)

    def keys(node: Node) -> set[str]:
        return {table.keys[one] for one in words.targets(node).tolist()}

    def with_word(*wanted: str) -> set[str]:
        return {key for key, texts in uses.items() if {*tokens(" ".join(texts))} & {*wanted}}

    assert keys(Wildcard("", "AN*al")) == with_word("annual")
    assert keys(Wildcard("", "h??e")) == with_word("home", "here")
    assert keys(Wildcard("", r"h\*e")) == set()
    assert keys(Fuzzy("", "anual", 1)) == with_word("annual")
    assert keys(Wildcard("", "*")) == {
        key for key, texts in uses.items() if any(tokens(text) for text in texts)
    }


def test_targets_are_ranked_and_known_by_urlkey(tmp_path: Path) -> None:
    batches = random_batches(5)
    table, uses = _linked(tmp_path / "archive", batches), _uses(batches)
    keys = table.keys.all()
    columns = [table.counts(name).tolist() for name in ("domains", "hosts", "documents")]
    ranks = list(zip(*([-count for count in column] for column in columns), keys, strict=True))
    assert ranks == sorted(ranks)
    assert table.targets([*keys, "org,nowhere)/"]).tolist() == [*range(len(keys)), NO_TARGET]
    for number, key in enumerate(keys):
        anchors = [table.anchor(use) for use, _ in table.anchor_texts(number)]
        assert {one.text: one.hosts for one in anchors} == {
            text: len(hosts) for text, hosts in uses[key].items() if text
        }
