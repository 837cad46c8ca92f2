"""Whether the inlinks of an archive agree with its documents, and with themselves."""

from collections.abc import Iterator

import numpy as np

from nwx.bulk.batches import batches
from nwx.engine.base import Engine
from nwx.engine.inlinks.counts import CellCounts, count_linked_cells, is_new
from nwx.engine.inlinks.inlink_index import InlinkIndex, LinkingDocument
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange, inlink_table
from nwx.errors import EngineError, UrlError
from nwx.links.document_table import living
from nwx.links.parts import clean_anchor, kind_name
from nwx.values.urlkeys import urlkey

InlinkProblem = tuple[str, str]
"""The id of an entry, `*` of none, and what is wrong."""

_AT_ONCE = 1_000


def check_inlinks(engine: Engine) -> Iterator[InlinkProblem]:
    """Yield the errors in the inlinks of an archive, nothing if it has no inlinks.

    All cells are recounted from the links. If nothing was written since links were inverted, the
    links of each document are counted too.
    """
    index = engine.inlink_index()
    try:
        table = inlink_table(index)
        if table is None:
            return
        for number in range(len(table.notes.ranges)):
            yield from _range_problems(table, table.range(number))
        if index.stamp() == table.notes.stamp:
            yield from _document_problems(index, table)
    except (EngineError, ValueError, IndexError) as error:
        yield "*", f"the inlinks cannot be read ({error}); run `nwx invert-links --anew`"


def _range_problems(table: InlinkTable, found: TargetRange) -> Iterator[InlinkProblem]:
    arrays = found.arrays
    targets = np.repeat(np.arange(len(found.keys)), np.diff(arrays["link_starts"]))
    counting = (arrays["flags"] & SELF) == 0
    target, document = targets[counting], arrays["document"][counting].astype(np.int64)
    once = is_new(target) | is_new(document)
    counted = count_linked_cells(target[once], document[once], table.documents)
    stored = _stored(found)
    if len(stored.target) != len(counted.target):
        yield found.keys[0], f"{len(stored.target)} cells, but {len(counted.target)} are counted"
        return
    wrong = np.zeros(len(stored.target), dtype=bool)
    for one, other in zip(stored, counted, strict=True):
        wrong |= one != other
    for place in np.unique(stored.target[wrong]).tolist():
        yield found.keys[place], "the counts are not those of its links"


def _stored(found: TargetRange) -> CellCounts:
    arrays = found.arrays
    target = np.repeat(np.arange(len(found.keys)), np.diff(arrays["count_starts"]))
    columns = {name: arrays[f"count_{name}"] for name in CellCounts._fields[1:]}
    return CellCounts(target=target, **columns)


def _document_problems(index: InlinkIndex, table: InlinkTable) -> Iterator[InlinkProblem]:
    """Compare the documents of a build and their numbers of links with the current ones."""
    known = living(table.documents)
    links = np.zeros(len(table.documents["alive"]), dtype=np.int64)
    for number in range(len(table.notes.ranges)):
        links += np.bincount(table.range(number).arrays["document"], minlength=len(links))
    numbers = dict(zip(known["id"].to_list(), known["number"].to_list(), strict=True))
    read = 0
    for ids in batches(list(numbers), _AT_ONCE):
        for document in index.linking_documents(ids):
            read += 1
            expected, stored = _link_count(document), int(links[numbers[document.id]])
            if expected != stored:
                message = f"{expected} links, but {stored} in the inlinks"
                yield document.id.hex(), message
    present = sum(len(found.states) for found in index.document_states())
    if not read == len(numbers) == present:
        yield "*", f"{len(numbers)} documents, but the archive has {present}"


def _link_count(document: LinkingDocument) -> int:
    found = set()
    for url, text, kind in zip(document.links, document.texts, document.kinds, strict=True):
        try:
            key = urlkey(url)
            key.encode()
        except (UrlError, UnicodeEncodeError):
            continue
        found.add((key, clean_anchor(text), kind_name(kind)))
    return len(found)
