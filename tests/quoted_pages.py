"""Pages with planted sentences, each present for some time, and the ground truth of each."""

from dataclasses import dataclass
from random import Random

from nwx.model import Batch, Document
from tests.conformance.archive import also, batch, page

_WORDS = (
    "harbour lamp quarry slate keeper storm été naïve Straße l'école can't 1,200 3.5 re-opened "
    "councillor voted tide museum ferry north pier budget water 東京 港 Москва and the of a in to"
).split()
_BLANKS = (" ", "\n", "\u00a0", "  ")


@dataclass(frozen=True, slots=True)
class PlantedSentence:
    """A sentence, its URL, and the timestamps of the captures with and without it."""

    text: str
    url: str
    present: tuple[str, ...]
    absent: tuple[str, ...]


def sentence(chance: Random, number: int) -> str:
    """Return a unique sentence; any two differ in at least one word."""
    words = chance.choices(_WORDS, k=chance.randint(2, 12))
    words.insert(chance.randint(0, len(words)), f"mark{number:05}")
    return " ".join(words)


def altered(text: str, chance: Random) -> str:
    """Return a sentence with one word replaced, changed, extended or doubled."""
    words = text.split()
    place = chance.randrange(len(words))
    old = words[place]
    new = chance.choice((f"{old}x", f"un{old}", old.swapcase(), "quagga", f"{old} quagga"))
    words[place] = new if new != old else "quagga"
    return " ".join(words)


def planted_pages(seed: int, sentences: int) -> tuple[Batch, list[PlantedSentence]]:
    """Return the batch of an archive, and its sentences; equal captures become dates."""
    chance = Random(seed)
    shown: list[Document] = []
    further, planted = [], []
    for start in range(0, sentences, 10):
        url = f"http://site{start % 7}.example/page{start}"
        moments = [f"{year}0{chance.randint(1, 9)}01000000" for year in range(2005, 2017)]
        spans = [sorted(chance.sample(range(13), 2)) for _ in range(10)]
        texts = [sentence(chance, start + number) for number in range(10)]
        versions: dict[str, list[str]] = {}
        for place, moment in enumerate(moments):
            held = [t for t, (low, high) in zip(texts, spans, strict=True) if low <= place < high]
            versions.setdefault("\n".join((f"Page {start}.", *held)), []).append(moment)
        for text, dates in versions.items():
            made = page(url, dates[0], _spaced(text, chance), title=f"Page {start}")
            shown.append(made)
            further.append(also(made, *dates))
        for text, (low, high) in zip(texts, spans, strict=True):
            absent = (*moments[:low], *moments[high:])
            planted.append(PlantedSentence(text, url, tuple(moments[low:high]), absent))
    return batch(shown, further), planted


def _spaced(text: str, chance: Random) -> str:
    lines = (chance.choice(_BLANKS).join(line.split()) for line in text.split("\n"))
    return "\n".join(lines)
