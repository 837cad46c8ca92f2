"""Random archives and queries from a seed."""

from random import Random

from nwx.model import Batch, Collapse, Dates, Document, Sort
from nwx.query.fields import FACET_FIELDS
from nwx.query.question import Question
from nwx.query.tree import All, Bool, Boost, DateRange, Fuzzy, Node, Phrase, Range, Term, Wildcard
from tests.conformance.archive import also, batch, page
from tests.conformance.oracle import Shown

WORDS = ["budget", "Budgets", "café", "CAFE", "müller", "muller", "city", "cities", "x1", "été"]
HOSTS = ["example.org", "www.example.org", "example.co.uk", "a.test"]
LANGUAGES = ["en", "fr", ""]
COLLECTIONS = ["web", "art", "law"]
TYPES = ["text/html", "application/pdf", "image/png"]
STATUSES = [200, 200, 404, None]
YEARS = range(2008, 2016)


def moment(chance: Random) -> str:
    """Return a random timestamp, often a repeated one."""
    day = chance.choice((1, 15, 28))
    return f"{chance.choice(YEARS)}{chance.randint(1, 12):02}{day:02}{chance.randint(0, 23):02}0000"


def document(chance: Random, number: int) -> Document:
    """Return a random document; several share a URL or a signature."""
    return page(
        f"http://{chance.choice(HOSTS)}/{chance.choice(WORDS[8:])}/{chance.randrange(40)}",
        moment(chance),
        " ".join(chance.choices(WORDS, k=chance.randint(0, 9))) + f" n{number}",
        title=" ".join(chance.choices(WORDS, k=chance.randint(0, 2))),
        headings=tuple(chance.choices(WORDS, k=chance.randint(0, 2))),
        collection=chance.choice(COLLECTIONS),
        content_language=chance.choice(LANGUAGES),
        content_type=chance.choice(TYPES),
        status=chance.choice(STATUSES),
        length=chance.choice((None, chance.randrange(5000))),
        signature=chance.choice(("", f"{chance.randrange(30):016x}")),
    )


def archive(chance: Random, size: int) -> tuple[list[Batch], list[Shown]]:
    """Return the batches that fill an archive, and the documents that it then contains."""
    documents = [document(chance, number) for number in range(size)]
    dates: list[Dates] = []
    for one in chance.sample(documents, size // 2):
        moments = [f"{moment(chance)} {chance.choice(COLLECTIONS)}" for _ in range(3)]
        dates.append(also(one, *moments[: chance.randint(1, 3)]))
    early, late = dates[::2], dates[1::2]
    unknown = [also(page(f"http://gone.test/{n}"), moment(chance)) for n in range(10)]
    batches = [Batch(dates=tuple(early)), batch(documents), Batch(dates=tuple(late + unknown))]
    pairs = {one.capture.document_id: {_own(one)} for one in documents}
    for one, more in zip(_documents_of(dates, documents), dates, strict=True):
        pairs[one.capture.document_id].update(more.seen)
    shown = [
        Shown(one.capture.document_id, one, frozenset(pairs[one.capture.document_id]))
        for one in documents
    ]
    return batches, shown


def _own(one: Document) -> tuple[str, str]:
    return one.capture.timestamp, one.capture.collection


def _documents_of(dates: list[Dates], documents: list[Document]) -> list[Document]:
    by_key = {f"{one.capture.url} {one.capture.digest}": one for one in documents}
    return [by_key[one.key] for one in dates]


def node(chance: Random, depth: int = 2) -> Node:
    """Return a random query."""
    if depth and chance.random() < 0.6:
        return _combination(chance, depth - 1)
    return chance.choice((_term, _term, _phrase, _wildcard, _fuzzy, _range, _dates, _all))(chance)


def _combination(chance: Random, depth: int) -> Node:
    def some(most: int) -> tuple[Node, ...]:
        return tuple(node(chance, depth) for _ in range(chance.randint(0, most)))

    if chance.random() < 0.15:
        return Boost(node(chance, depth), chance.choice((0.5, 2.0)))
    return Bool(must=some(2), should=some(2), must_not=some(1))


def _term(chance: Random) -> Node:
    field = chance.choice(("", "", "content", "title", "headings", "url_text", "host", "keyword"))
    if field == "keyword":
        name, values = chance.choice(
            (
                ("content_language", LANGUAGES[:2]),
                ("content_type_norm", ["html", "pdf"]),
                ("status_code", ["200", "404"]),
                ("signature", [f"{n:016x}" for n in range(3)]),
            )
        )
        return Term(name, chance.choice(values))
    return Term(field, chance.choice(HOSTS if field == "host" else WORDS))


def _phrase(chance: Random) -> Node:
    return Phrase(chance.choice(("", "content", "title")), " ".join(chance.choices(WORDS, k=2)))


def _wildcard(chance: Random) -> Node:
    patterns = ["bud*", "*et", "C?TY", "caf?", "M*R", "x?", "*t*", "é*"]
    if chance.random() < 0.3:
        return Wildcard("host", chance.choice(("*.org", "example.*", "www*", "?.test")))
    return Wildcard(chance.choice(("", "content", "title", "headings")), chance.choice(patterns))


def _fuzzy(chance: Random) -> Node:
    word = chance.choice(("bugdet", "citi", "cafés", "mülle", "x2", "ete"))
    return Fuzzy(chance.choice(("", "content", "title")), word, chance.randint(0, 2))


def _range(chance: Random) -> Node:
    if chance.random() < 0.5:
        bounds = sorted(chance.sample(range(5000), 2))
        low, high = (chance.choice((None, str(bound))) for bound in bounds)
        return Range("content_length", low, high, chance.random() < 0.5, chance.random() < 0.5)
    low, high = sorted(chance.sample(HOSTS, 2))
    return Range("host", low, high, chance.random() < 0.5, chance.random() < 0.5)


def _dates(chance: Random) -> Node:
    low, high = sorted((moment(chance), moment(chance)))
    return DateRange(chance.choice(("", low, low)), chance.choice(("", high, high)))


def _all(chance: Random) -> Node:
    return All()


def request(chance: Random) -> Question:
    """Return a question that uses all options at once."""
    filters: dict[str, tuple[str, ...]] = {}
    choices = {
        "collection": COLLECTIONS,
        "host": HOSTS,
        "content_type_norm": ["html", "pdf", "image"],
        "status_code": ["200", "404"],
        "content_language": LANGUAGES[:2],
        "year": [str(year) for year in YEARS],
    }
    for name, values in choices.items():
        if chance.random() < 0.15:
            filters[name] = tuple(chance.sample(values, chance.randint(1, 2)))
    low, high = sorted((moment(chance), moment(chance)))
    return Question(
        node(chance),
        filters=filters,
        date_from=low if chance.random() < 0.3 else "",
        date_to=high if chance.random() < 0.3 else "",
        sort=chance.choice(list(Sort)),
        collapse=chance.choice(list(Collapse)),
        facets=tuple(chance.sample(FACET_FIELDS, 3)),
        facet_size=100,
        limit=500,
        snippets=False,
    )
