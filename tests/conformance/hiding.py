"""Hidden parts of the random archive, chosen in several ways, and the parts that remain visible."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from nwx.query.question import HiddenDocuments, HiddenSpan
from tests.conformance.oracle import Shown
from tests.conformance.test_chance import SHOWN

SPANS = (
    HiddenSpan("00000000000000", "20091231235959"),
    HiddenSpan("20130301000000", "20131115120000"),
    HiddenSpan("20110101000000", "99999999999999", "law"),
)


def some_hidden(seed: int, spans: Sequence[HiddenSpan] = ()) -> HiddenDocuments:
    """Return randomly chosen hidden documents, hidden dates of others, and the given spans."""
    random = Random(seed)
    picked = random.sample(SHOWN, len(SHOWN) // 2)
    wholly, partly, apart = picked[:20], picked[20:60], picked[60:]
    dates = {
        one.id: frozenset(random.sample(sorted(one.pairs), random.randint(1, len(one.pairs))))
        for one in partly
    }
    return HiddenDocuments(
        key=f"{seed} {len(spans)}",
        documents=frozenset(one.id for one in wholly),
        dates=dates,
        spans=tuple(spans),
        apart=frozenset(one.id for one in apart),
    )


def seen_through(hidden: HiddenDocuments) -> list[Shown]:
    """Return the documents of the archive without their hidden parts."""
    seen = [
        replace(one, pairs=frozenset(pair for pair in one.pairs if _is_seen(hidden, one, pair)))
        for one in SHOWN
    ]
    return [one for one in seen if one.pairs]


def _is_seen(hidden: HiddenDocuments, one: Shown, pair: tuple[str, str]) -> bool:
    return not hidden.hides_date(one.id, *pair)


HIDING = {
    "documents": replace(some_hidden(1), key="documents", dates={}),
    "dates": some_hidden(2),
    "spans": HiddenDocuments("spans", spans=SPANS[:2]),
    "all": some_hidden(3, SPANS),
    "everything": HiddenDocuments("everything", spans=(HiddenSpan("0" * 14, "9" * 14),)),
}
