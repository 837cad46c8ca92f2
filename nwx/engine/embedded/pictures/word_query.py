"""Queries of pictures in the language of FTS5, and conditions on measures in SQL."""

from nwx.engine.pictures.entries import WORD_FIELDS
from nwx.engine.pictures.picture_index import COLOURS, SIZE_LIMITS, PictureQuestion
from nwx.query.picture_words import FieldCondition
from nwx.query.tree import Bool, Node, Phrase, Wildcard

EVERY = "picture"
"""The word that all entries have in a column of its own."""

WORD_WEIGHTS = (*WORD_FIELDS.values(), 0.0)
_ALL = f"every : {EVERY}"
_COLUMNS = f"{{{' '.join(WORD_FIELDS)}}}"


def match_expression(node: Node) -> str:
    """Return the words of a query as an expression of MATCH."""
    match node:
        case Phrase():
            return f'({_COLUMNS} : "{node.text}")'
        case Wildcard():
            return f'({_COLUMNS} : "{node.pattern.removesuffix("*")}" *)'
        case Bool():
            return _bool(node)
        case _:
            return f"({_ALL})"


def _bool(node: Bool) -> str:
    wanted = [match_expression(part) for part in node.must]
    if not wanted and node.should:
        wanted = [f"({' OR '.join(map(match_expression, node.should))})"]
    found = " AND ".join(wanted) or f"({_ALL})"
    if not node.must_not:
        return f"({found})"
    without = " OR ".join(map(match_expression, node.must_not))
    return f"(({found}) NOT ({without}))"


def measure_condition(
    question: PictureQuestion, fields: tuple[FieldCondition, ...]
) -> tuple[str, list[object]]:
    """Return a condition on the table `measures`, and its values."""
    parts = ["1"]
    values: list[object] = []
    if question.size is not None:
        parts.append("measures.long_side >= ? AND measures.long_side < ?")
        values += SIZE_LIMITS[question.size]
    for colour in question.colours:
        parts.append("measures.colours & ?")
        values.append(colour_bits((colour,)))
    for expression, wanted in (
        ("measures.host", question.hosts),
        ("measures.domain", question.domains),
        ("measures.collection", question.collections),
        ("substr(measures.timestamp, 1, 4)", question.years),
    ):
        if wanted:
            parts.append(f"{expression} IN ({', '.join('?' * len(wanted))})")
            values += wanted
    for field in fields:
        parts.append(f"measures.{field.field} {'<>' if field.is_not else '='} ?")
        values.append(field.value)
    if question.hidden:
        parts.append("NOT is_hidden(measures.id, measures.timestamp, measures.collection)")
    return " AND ".join(parts), values


def colour_bits(colours: tuple[str, ...]) -> int:
    """Return a bit for each of these colours; unknown ones have none."""
    return sum(1 << COLOURS.index(colour) for colour in colours if colour in COLOURS)
