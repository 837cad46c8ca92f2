"""The triples of a page while they are gathered."""

from collections.abc import Iterator

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from nwx.steering.structured.terms import iri, literal, part_iri

MOST_TRIPLES = 2_000
"""So many triples of one page are kept."""

_MOST_PROBLEMS = 20

RdfObject = NamedNode | Literal


class TripleDraft:
    """Triples in the order in which they are found, each once, and what was wrong on the way.

    Things without a name get one by their order in the page, so that the
    same page always gives the same triples.
    """

    def __init__(self, capture: NamedNode) -> None:
        self._capture = capture
        self._triples: dict[tuple[str, str, str], Triple] = {}
        self._parts: dict[str, NamedNode] = {}
        self.problems: list[str] = []
        self.is_cut = False
        """Whether triples were left out, as there are too many."""

    def new_part(self) -> NamedNode:
        """Return the name of a further thing that has none."""
        number = len(self._parts) + 1
        return self._parts.setdefault(f"#{number}", part_iri(self._capture, number))

    def add(self, subject: NamedNode, predicate: NamedNode, value: RdfObject) -> None:
        """Take a triple."""
        key = (subject.value, predicate.value, str(value))
        if key in self._triples:
            return
        if len(self._triples) >= MOST_TRIPLES:
            self.is_cut = True
            self.complain(f"triples: more than {MOST_TRIPLES}, the rest was left out")
            return
        self._triples[key] = Triple(subject, predicate, value)

    def add_unchecked(self, triple: Triple) -> None:
        """Take a triple whose terms a parser passed on as they were; drop one that is invalid."""
        subject, predicate = self._node(triple.subject), iri(triple.predicate.value)
        value = self._object(triple.object)
        if subject is None or predicate is None or value is None:
            self.complain("terms: some are no valid IRIs")
        else:
            self.add(subject, predicate, value)

    def complain(self, problem: str) -> None:
        """Take note of a problem, once."""
        if problem not in self.problems and len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)

    def __iter__(self) -> Iterator[Triple]:
        return iter(self._triples.values())

    def _node(self, node: object) -> NamedNode | None:
        if isinstance(node, NamedNode):
            return iri(node.value)
        if not isinstance(node, BlankNode):
            return None
        known = self._parts.get(node.value)
        if known is None:
            known = part_iri(self._capture, len(self._parts) + 1)
            self._parts[node.value] = known
        return known

    def _object(self, node: object) -> RdfObject | None:
        if not isinstance(node, Literal):
            return self._node(node)
        if not node.value.strip():
            return None
        datatype = iri(node.datatype.value)
        return literal(node.value, node.language or "", None if node.language else datatype)
