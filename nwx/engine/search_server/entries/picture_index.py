"""The index `pictures` on a server, with entries of pictures and of their appearances."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nwx.bulk.progress import batches
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import EntryIndex
from nwx.engine.indices.picture_index import (
    SIMILAR_BITS,
    SIZE_LIMITS,
    WORD_FIELDS,
    Appearance,
    FoundPicture,
    Picture,
    PictureIndex,
    PictureQuestion,
    PictureResult,
    SimilarPicture,
    appearance_entry,
    appearance_from_entry,
    checked_query,
    picture_entry,
    picture_from_entry,
    words_of_appearance,
)
from nwx.engine.search_server.documents.compile import digits_range
from nwx.engine.search_server.documents.hidden_parts import span_condition
from nwx.engine.search_server.entries.store import ServerEntryStore, entry_query, term
from nwx.engine.search_server.schema import BITS
from nwx.engine.search_server.server import Body, quoted
from nwx.model import Total
from nwx.query.question import NONE_HIDDEN, HiddenDocuments
from nwx.query.tree import Bool, Node, Phrase, Wildcard
from nwx.query.words import PictureQuery

_DATED = (
    ("picture", "timestamp", "collection"),
    ("page", "page_timestamp", "page_collection"),
)
_MOST_TERMS = 60_000
_BITS = 64
_WEIGHTED = [f"{name}^{weight}" for name, weight in WORD_FIELDS.items()]


def picture_query(question: PictureQuestion, query: PictureQuery) -> Body:
    """Return the search for the entries that match a question."""
    filters: list[Body] = [{"exists": {"field": "picture"}}]
    without: list[Body] = list(hidden_terms(question.hidden))
    if query.words is None:
        filters = [term("kind", "picture")]
    if question.size is not None:
        low, high = SIZE_LIMITS[question.size]
        filters.append({"range": {"long_side": {"gte": low, "lt": high}}})
    filters += [{"term": {"colours": colour}} for colour in question.colours]
    for name, wanted in (
        ("host", question.hosts),
        ("domain", question.domains),
        ("collection", question.collections),
    ):
        if wanted:
            filters.append({"terms": {name: list(wanted)}})
    if question.years:
        filters.append({"bool": {"should": [_year(year) for year in question.years]}})
    if question.box is not None:
        degrees = {"gte": question.box.south, "lte": question.box.north}
        filters.append({"range": {"latitude": degrees}})
        inside = [{"range": {"longitude": {"gte": a, "lte": b}}} for a, b in question.box.spans]
        filters.append({"bool": {"should": inside}})
    for field in query.conditions:
        condition = {"term": {field.field: field.value}}
        (without if field.is_not else filters).append(condition)
    # Entries that match only by filters have no score.
    must = [] if query.words is None else [_words(query.words)]
    return {"bool": {"must": must, "filter": filters, "must_not": without}}


def _year(year: str) -> Body:
    return {"range": {"timestamp": {"gte": f"{year}0101000000", "lte": f"{year}1231235959"}}}


def hidden_terms(hidden: HiddenDocuments) -> Iterator[Body]:
    """Yield searches for all entries of hidden pictures, and for appearances on hidden pages."""
    known = list(_terms(hidden.apart.union(hidden.dates)))
    gone = list(_terms(hidden.documents))
    for name, timestamp, collection in _DATED:
        yield from ({"terms": {name: ids}} for ids in gone)
        others = [{"terms": {name: ids}} for ids in known]
        for span in hidden.spans:
            condition = span_condition(span)
            inside = [digits_range(timestamp, *ends) for ends in condition.spans or ()]
            inside += [{"term": {collection: one}} for one in condition.collections]
            yield {"bool": {"filter": inside, "must_not": others}}


def _terms(ids: Iterable[str]) -> Iterator[list[str]]:
    """Yield ids in lists short enough for the server."""
    return batches(sorted(ids), _MOST_TERMS)


def similar_query(hash: int, hidden: HiddenDocuments) -> Body:
    """Return the search for pictures with a similar hash; the score is the number of equal bits.

    Each bit is a word, so that no script is needed, which servers may disable.
    """
    equal = [{"constant_score": {"filter": {"term": {BITS: bit}}}} for bit in bits_of(hash)]
    return {
        "bool": {
            "should": equal,
            "minimum_should_match": _BITS - SIMILAR_BITS,
            "must_not": list(hidden_terms(hidden)),
        }
    }


def bits_of(hash: int) -> list[str]:
    """Return a word for each bit of a hash."""
    return [f"{number}{'+' if hash >> number & 1 else '-'}" for number in range(_BITS)]


def distance_of(score: float) -> int:
    """Return the number of different bits, given the score of `similar_query`."""
    return _BITS - round(score)


def _words(node: Node) -> Body:
    match node:
        case Phrase():
            return {"multi_match": {"query": node.text, "fields": _WEIGHTED, "type": "phrase"}}
        case Wildcard():
            beginning = node.pattern.removesuffix("*")
            each = [{"prefix": {name: beginning}} for name in WORD_FIELDS]
            return {"bool": {"should": each, "minimum_should_match": 1}}
        case Bool():
            return _bool(node)
        case _:
            return {"match_all": {}}


def _bool(node: Bool) -> Body:
    found: Body = {
        "must": [_words(part) for part in node.must],
        "must_not": [_words(part) for part in node.must_not],
    }
    if not node.must and node.should:
        found["should"] = [_words(part) for part in node.should]
        found["minimum_should_match"] = 1
    return {"bool": found}


_COPIED = (
    *("host", "domain", "collection", "timestamp", "content_type"),
    *("colours", "long_side", "area", "name_words", "latitude", "longitude"),
)
"""The fields that an appearance copies from its picture."""

_KEYS_AT_ONCE = 1_000
_COUNTED_EXACTLY = 40_000
_ORDER: list[Body] = [{"_score": "desc"}, {"area": "desc"}, {"picture": "asc"}]


class ServerPictureIndex(EntryIndex, PictureIndex):
    """The index `<prefix>-pictures`, created on the first write."""

    _store: ServerEntryStore

    def put(self, pictures: Sequence[Picture], appearances: Sequence[Appearance] = ()) -> None:
        entries = {picture.id: _own(picture) for picture in pictures}
        shown = self._picture_entries({one.picture for one in appearances} - {"", *entries})
        self._store.put(list(entries.values()))
        self._store.put([_joined(one, (shown | entries).get(one.picture)) for one in appearances])

    def _picture_entries(self, ids: Collection[str]) -> dict[str, IndexEntry]:
        found = self._store.get(ids)
        return {id: entry for id, entry in found.items() if entry["kind"] == "picture"}

    def pictures_of(self, ids: Collection[str]) -> dict[str, Picture]:
        found = self._picture_entries(ids)
        return {id: picture_from_entry(entry) for id, entry in found.items()}

    def appearances_at(self, urlkeys: Collection[str]) -> list[Appearance]:
        return [
            appearance_from_entry(entry)
            for keys in _chunks(urlkeys)
            for entry in self._appearances("urlkey", keys)
        ]

    def _appearances(self, field: str, values: Sequence[str]) -> Iterator[IndexEntry]:
        return self._store.find({"kind": "appearance", field: tuple(values)})

    def appearance_counts(self, urlkeys: Collection[str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for keys in _chunks(urlkeys) if self._store.refresh() else ():
            query = entry_query({"kind": "appearance", "urlkey": tuple(keys)})
            terms = {"field": "urlkey", "size": _KEYS_AT_ONCE}
            body: Body = {"query": query, "size": 0, "aggs": {"keys": {"terms": terms}}}
            buckets = self._store.search(body)["aggregations"]["keys"]["buckets"]
            counts |= {one["key"]: one["doc_count"] for one in buckets}
        return counts

    def search(self, question: PictureQuestion) -> PictureResult:
        query = checked_query(question)
        if not self._store.refresh():
            return PictureResult(Total(0), ())
        found = self._store.search(_search_body(question, query))
        entries = [hit["_source"] for hit in found["hits"]["hits"]]
        whole = self._picture_entries({entry["picture"] for entry in entries})
        total = found["aggregations"]["pictures"]["value"]
        relation = "eq" if total < _COUNTED_EXACTLY or query.words is None else "gte"
        if query.words is None:
            total = found["hits"]["total"]["value"]
        return PictureResult(
            Total(total, relation),
            tuple(_found(entry, whole) for entry in entries if entry["picture"] in whole),
        )

    def appearances_of(
        self, id: str, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[Appearance]:
        if not self._store.refresh():
            return []
        filters = [term("kind", "appearance"), term("picture", id)]
        query = {"bool": {"filter": filters, "must_not": list(hidden_terms(hidden))}}
        order = [{"page_timestamp": "asc"}, {"page": "asc"}]
        body: Body = {"query": query, "sort": order, "size": limit, "track_total_hits": False}
        hits = self._store.search(body)["hits"]["hits"]
        return [appearance_from_entry(hit["_source"]) for hit in hits]

    def similar(
        self, hash: int, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[SimilarPicture]:
        if not self._store.refresh():
            return []
        query = similar_query(hash, hidden)
        body: Body = {"query": query, "sort": _ORDER, "size": limit, "track_scores": True}
        hits = self._store.search(body)["hits"]["hits"]
        return [
            SimilarPicture(picture_from_entry(hit["_source"]), distance_of(hit["_score"]))
            for hit in hits
        ]

    def remove(self, ids: Iterable[str]) -> int:
        removed = sum(map(self._remove, _chunks(ids)))
        if removed:
            self._store.refresh()
            path = f"/{quoted(self._store.alias)}/_forcemerge"
            self._store.server.request("POST", path, params={"max_num_segments": "1"})
        return removed

    def _remove(self, ids: list[str]) -> int:
        """Remove entries; appearances of a removed picture stay, without a picture."""
        each = [{"terms": {"id": ids}}, {"terms": {"page": ids}}]
        hits = self._store.stream({"bool": {"should": each}}, [{"id": "asc"}], source=False)
        gone = {hit["_id"] for hit in hits}
        kept = [one for one in self._appearances("picture", ids) if one["id"] not in gone]
        self._store.put(
            [_joined(replace(appearance_from_entry(one), picture=""), None) for one in kept]
        )
        return self._store.delete(gone)

    def clear(self) -> None:
        self._store.drop()

    def state(self, name: str) -> bytes | None:
        return self._store.state(name) or None


def _chunks(values: Iterable[str]) -> Iterator[list[str]]:
    return batches(dict.fromkeys(values), _KEYS_AT_ONCE)


def _search_body(question: PictureQuestion, query: PictureQuery) -> Body:
    counted = {"field": "picture", "precision_threshold": _COUNTED_EXACTLY}
    return {
        "query": picture_query(question, query),
        "collapse": {"field": "picture"},
        "sort": _ORDER,
        "from": question.offset,
        "size": question.limit,
        "track_total_hits": query.words is None,
        "aggs": {"pictures": {"cardinality": counted}},
    }


def _found(entry: IndexEntry, whole: Mapping[str, IndexEntry]) -> FoundPicture:
    picture = picture_from_entry(whole[entry["picture"]])
    own = entry["kind"] == "picture"
    return FoundPicture(picture, None if own else appearance_from_entry(entry))


def _own(picture: Picture) -> IndexEntry:
    """Return the entry of a picture with the bits of its hash."""
    bits = {} if picture.hash is None else {BITS: bits_of(picture.hash)}
    return picture_entry(picture) | bits


def _joined(appearance: Appearance, picture: IndexEntry | None) -> IndexEntry:
    """Return the entry of an appearance with its words and the fields of its picture."""
    copied = {name: picture[name] for name in _COPIED if name in picture} if picture else {}
    return appearance_entry(appearance) | words_of_appearance(appearance) | copied
