"""The vectors of passages on a server: as `dense_vector`, or compared one by one by a script."""

import base64
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from cachetools import TTLCache

from nwx.bulk.progress import batches
from nwx.engine.indices.entry_store import EntryIndex
from nwx.engine.indices.vector_index import (
    DocumentPassages,
    FoundPassage,
    NearestPassages,
    VectorIndex,
    Vectors,
    best_of_documents,
    cosines,
    passage_entries,
)
from nwx.engine.search_server.date_indices import REMEMBERED_SECONDS
from nwx.engine.search_server.entries.store import ServerEntryStore
from nwx.engine.search_server.pages import Search
from nwx.engine.search_server.schema import VECTOR_BYTES
from nwx.engine.search_server.server import Body, quoted
from nwx.engine.search_server.writes import refresh
from nwx.errors import UsageError

_MOST_NEAR = 10_000
_MOST_STATES = 8
_TERMS = 1_000
_BY_ID: list[Body] = [{"id": "asc"}]
_PLACE = ["document", "start", "end"]
_FIRST_CODE = 0x180
_SCRIPT = f"""
String asked = params.asked;
int product = 0, squares = 0;
if (doc.containsKey('{VECTOR_BYTES}') && doc['{VECTOR_BYTES}'].size() > 0) {{
  BytesRef packed = doc['{VECTOR_BYTES}'].value;
  byte[] bytes = packed.bytes;
  int offset = packed.offset;
  for (int i = 0; i < asked.length(); i++) {{
    int code = bytes[offset + i];
    product += code * (asked.charAt(i) - {_FIRST_CODE});
    squares += code * code;
  }}
}} else {{
  String codes = doc['codes'].value;
  for (int i = 0; i < asked.length(); i++) {{
    int code = codes.charAt(i) - {_FIRST_CODE};
    product += code * (asked.charAt(i) - {_FIRST_CODE});
    squares += code * code;
  }}
}}
return 1 + product / Math.sqrt(Math.max((double) squares * params.squares, 1));
"""
"""The script that compares vectors. Static types, and a string for the query vector, save most of
its time. Earlier versions stored vectors as strings too, which take 60 times as long to read.
"""


class ServerVectorIndex(EntryIndex, VectorIndex):
    """The index of passages, one per entry; servers without `dense_vector` compare each one."""

    model_dimensions = 64
    _store: ServerEntryStore

    def __init__(self, store: ServerEntryStore, *, has_dense_vectors: bool) -> None:
        super().__init__(store)
        self._server = store.server
        self._is_dense = has_dense_vectors
        self._remembered: TTLCache[str, bytes] = TTLCache(_MOST_STATES, REMEMBERED_SECONDS)

    def put(self, documents: Sequence[DocumentPassages]) -> None:
        if not documents:
            return
        self._store.make()
        self._add_fields(documents[0].vectors.shape[1])
        entries = [entry for one in documents for entry in passage_entries(one)]
        if not self._is_dense:
            entries = [entry | {VECTOR_BYTES: _packed(entry["vector"])} for entry in entries]
        self._store.put(entries)
        refresh(self._server, self._store.alias)

    def _add_fields(self, dimensions: int) -> None:
        first = self._store.search({"size": 1, "_source": ["vector"]})["hits"]["hits"]
        if first and len(first[0]["_source"]["vector"]) != dimensions:
            raise UsageError("vectors of another length are stored; build them anew")
        fields: Body = {
            "vector": {"type": "byte", "index": False, "doc_values": False},
            VECTOR_BYTES: {"type": "binary", "doc_values": True},
        }
        if self._is_dense:
            dense = {"type": "dense_vector", "dims": dimensions, "element_type": "byte"}
            fields = {"vector": {**dense, "index": True, "similarity": "cosine"}}
        path = f"/{quoted(self._store.alias)}/_mapping"
        self._server.request("PUT", path, {"properties": fields})

    def known(self, ids: Collection[str]) -> set[str]:
        firsts = [f"{id}-0000" for id in ids]
        return {one["document"] for one in self._store.get(firsts, ["document"]).values()}

    def nearest(self, vector: Vectors, most: int, documents: int = _MOST_NEAR) -> NearestPassages:
        """Return the nearest passages as in the interface, for at most `documents` documents."""
        if not self.is_made():
            return NearestPassages([], is_all=True)
        found = self._store.search(self.search(vector, most, documents).body)
        return self.found(found, most, documents)

    def search(self, vector: Vectors, most: int, documents: int) -> Search:
        """Return the search for the passages nearest to a vector, one per document."""
        nearest = min(most, _MOST_NEAR)
        body: Body = {"size": min(nearest, documents), "track_total_hits": True}
        body |= {"_source": False, "stored_fields": "_none_", "docvalue_fields": _PLACE}
        body["collapse"] = {"field": "document"}
        listed = vector.tolist()
        if self._is_dense:
            near: Body = {"field": "vector", "query_vector": listed, "k": nearest}
            body["knn"] = near | {"num_candidates": nearest}
        else:
            squares = sum(one * one for one in listed)
            parameters = {"asked": _codes(listed), "squares": squares}
            script = {"lang": "painless", "source": _SCRIPT, "params": parameters}
            query = {"exists": {"field": "document"}}
            body["query"] = {"script_score": {"query": query, "script": script}}
        return Search(self._store.alias, body)

    def found(self, answer: Body, most: int, documents: int) -> NearestPassages:
        """Return the passages in the answer to a search."""
        # Scores cannot be negative: Elasticsearch's are (1 + cosine) / 2, the script's 1 + cosine.
        factor = 2.0 if self._is_dense else 1.0
        found = []
        for hit in answer["hits"]["hits"]:
            (document,), (start,), (end,) = map(hit["fields"].__getitem__, _PLACE)
            found.append(FoundPassage(document, factor * hit["_score"] - 1, 0, (start, end)))
        nearest = min(most, _MOST_NEAR)
        is_all = len(found) < min(nearest, documents)
        if self._is_dense:  # only the nearest passages are examined
            is_all &= answer["hits"]["total"]["value"] < nearest
        return NearestPassages(best_of_documents(found), is_all=is_all)

    def among(self, vector: Vectors, ids: Collection[str]) -> list[FoundPassage]:
        entries = list(self._entries(ids, [*_PLACE, "vector"]))
        if not entries:
            return []
        scores = cosines(vector, np.array([one["vector"] for one in entries], dtype=np.int8))
        pairs = zip(entries, scores.tolist(), strict=True)
        return best_of_documents(_passage(entry, score) for entry, score in pairs)

    def _entries(self, ids: Iterable[str], fields: Sequence[str]) -> Iterator[Body]:
        for some in batches(dict.fromkeys(ids), _TERMS):
            query: Body = {"terms": {"document": some}}
            yield from (hit["_source"] for hit in self._store.stream(query, _BY_ID, list(fields)))

    def entries(self) -> Iterator[Body]:
        """Stream all passages; names all fields, or else Elasticsearch leaves out vectors."""
        hits = self._store.stream({"match_all": {}}, _BY_ID, ["id", *_PLACE, "vector"])
        return (hit["_source"] for hit in hits)

    def remove(self, ids: Collection[str]) -> int:
        return self._store.delete([one["id"] for one in self._entries(ids, ["id"])])

    def clear(self) -> None:
        self._store.drop()
        self._remembered.clear()

    def state(self, name: str) -> bytes | None:
        return self._store.state(name) or None

    def put_state(self, name: str, state: bytes, *, derived: bool = False) -> None:
        super().put_state(name, state, derived=derived)
        self._remembered.clear()

    def recent_state(self, name: str) -> bytes | None:
        found = self._remembered.get(name)
        if found is None and (found := self.state(name)):
            self._remembered[name] = found
        return found


def _passage(entry: Body, score: float) -> FoundPassage:
    return FoundPassage(entry["document"], score, 0, (entry["start"], entry["end"]))


def _packed(vector: Sequence[int]) -> str:
    """Return a vector as base64 bytes, which scripts can read, unlike stored lists."""
    return base64.b64encode(np.array(vector, dtype=np.int8).tobytes()).decode("ascii")


def _codes(vector: Sequence[int]) -> str:
    """Return a vector as a string with a character for each number."""
    return "".join(chr(_FIRST_CODE + number) for number in vector)
