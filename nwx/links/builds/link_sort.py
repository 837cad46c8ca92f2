"""The links of all parts to the targets between two urlkeys, brought together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.links.builds.document_table import NO_DOCUMENT
from nwx.links.builds.parts import LinkPart, LinkStretch

RANGE_LINKS = 1 << 20
_SAMPLES = 8
_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it are spread evenly between whole numbers."""


@dataclass(frozen=True, slots=True)
class KeyedLinks:
    """Links with the numbers of their targets and anchors among `keys` and `texts`.

    These are in order; the text 0 is "". The other columns are equally long.
    """

    keys: pl.Series
    texts: list[str]
    target: Array
    document: Array
    kind: Array
    anchor: Array


def range_starts(parts: Sequence[LinkPart], links: int = RANGE_LINKS) -> list[str]:
    """Return the first urlkeys of ranges of about so many links each; the first is ""."""
    sampled: list[tuple[str, float]] = []
    for number, stretch in enumerate(one for part in parts for one in part.stretches):
        ends = stretch.arrays["link_starts"][1:]
        if not len(ends):
            continue
        step = min(max(1, links // _SAMPLES), max(1, int(ends[-1]) // _SAMPLES))
        # At the same places in each stretch, samples would lie at a few places in all.
        offset = int(number * _GOLDEN % 1 * step)
        marks = np.diff((ends + offset) // step, prepend=0)
        places = np.flatnonzero(marks)
        weights = marks[places] * step
        sampled += zip(stretch.keys.take(places.tolist()), weights.tolist(), strict=True)
    sampled.sort()
    starts, passed = [""], 0.0
    for key, weight in sampled:
        passed += weight
        if passed >= links:
            starts.append(key)
            passed = 0.0
    return list(dict.fromkeys(starts))


def gathered_links(
    stretches: Sequence[LinkStretch], numbers: Sequence[Array], first: str, last: str | None
) -> KeyedLinks:
    """Return the links to targets from a urlkey up to and without another, None for all behind.

    `numbers` are those of the documents of the part of each stretch.
    """
    keys, texts = [pl.Series(dtype=pl.String)], [pl.Series([""], dtype=pl.String)]
    target, document, kind, anchor = ([np.zeros(0, np.int64)] for _ in range(4))
    held_keys, held_texts = 0, 1
    for stretch, of_part in zip(stretches, numbers, strict=True):
        begin, end = stretch.span(first, last)
        if begin == end:
            continue
        starts = stretch.arrays["link_starts"][begin : end + 1]
        links = slice(int(starts[0]), int(starts[-1]))
        found = of_part[stretch.arrays["document"][links]]
        there = found != NO_DOCUMENT
        keys.append(pl.Series(stretch.keys.between(begin, end), dtype=pl.String))
        target.append((np.repeat(np.arange(end - begin), np.diff(starts)) + held_keys)[there])
        document.append(found[there])
        kind.append(stretch.arrays["kind"][links][there])
        used, local = np.unique(stretch.arrays["anchor"][links][there], return_inverse=True)
        texts.append(pl.Series(stretch.anchors(used), dtype=pl.String))
        anchor.append(local + held_texts)
        held_keys += end - begin
        held_texts += len(used)
    all_keys, key_codes = _ranked(pl.concat(keys))
    all_texts, text_codes = _ranked(pl.concat(texts))
    codes = key_codes[np.concatenate(target)]
    there, codes = np.unique(codes, return_inverse=True)
    return KeyedLinks(
        all_keys.gather(there),
        all_texts.to_list(),
        codes,
        np.concatenate(document),
        np.concatenate(kind).astype(np.uint8),
        text_codes[np.concatenate(anchor)],
    )


def _ranked(texts: pl.Series) -> tuple[pl.Series, Array]:
    """Return the different texts in order, and the number of each of all texts among them."""
    if not len(texts):
        return texts, np.zeros(0, np.int64)
    codes: Array = (texts.rank("dense") - 1).to_numpy().astype(np.int64)
    places = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    places[codes] = np.arange(len(codes))
    return texts.gather(places), codes
