"""How well edits of pages are distinguished from noise, and how fast texts are compared.

    python -m benchmarks.changes

Makes 500 pairs of versions of pages on 25 hosts. Each host has two to five kinds of noise; half
of the pairs have an edit too. Prints the recall, the false alarms, and the core-hours of a million
comparisons.
"""

import random
import time
from collections.abc import Callable, Iterator

from nwx.searching.differences import HostNoise, text_changes

HOSTS, URLS, VERSIONS = 25, 4, 6
SPEED_PAIRS = 4_000
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_Page = list[str]


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(_VOCABULARY) for _ in range(count))


_LETTERS = random.Random(1)
_VOCABULARY = [
    "".join(_LETTERS.choice("abcdefghiklmnoprstuv") for _ in range(_LETTERS.randint(2, 10)))
    for _ in range(4_000)
]
_NOISE: tuple[Callable[[random.Random], str], ...] = (
    lambda c: f"Today is {c.choice(_DAYS)}, {c.randint(1, 28)} May {c.randint(2001, 2020)}",
    lambda c: f"You are visitor {c.randint(1, 10**6):,} since the opening of these pages",
    lambda c: f"Session {c.getrandbits(64):016x} of the reader",
    lambda c: f"Quote of the day: {_words(c, c.randint(5, 12))}",
    lambda c: f"{c.choice(('Anna', 'Bert', 'Carl', 'Dora', 'Emil', 'Frida'))} is online",
    lambda c: f"Advertisement: buy {_words(c, 3)} now",
    lambda c: f"Page generated in {c.random():.3f} seconds by server {c.choice('abcdef')}",
    lambda c: f"Weather in town: {c.randint(-9, 35)} degrees, {_words(c, 1)}",
    lambda c: f"Most read: {_words(c, 4)} | {_words(c, 5)} | {_words(c, 3)}",
    lambda c: f"token={c.getrandbits(48):x}-{c.getrandbits(48):x}",
)


def _page(chance: random.Random) -> _Page:
    """Return the lines of a page, one with a price."""
    lines = [_words(chance, chance.randint(4, 40)) for _ in range(chance.randint(15, 60))]
    lines[len(lines) // 2] = f"admission {chance.randint(2, 40)} crowns for {_words(chance, 3)}"
    return lines


def _dearer(line: str, chance: random.Random) -> str:
    words = line.split()
    if words[:1] == ["admission"] and len(words) > 1 and words[1].isdigit():
        words[1] = str(int(words[1]) + chance.randint(1, 9))
    return " ".join(words)


def _edited(page: _Page, chance: random.Random) -> _Page:
    """Return a page after an edit by its author."""
    lines, at = list(page), chance.randrange(len(page))
    words = lines[at].split()
    place = chance.randrange(len(words))
    match chance.randrange(6):
        case 0:
            words[place] = _words(chance, 1)
            lines[at] = " ".join(words)
        case 1:
            lines.insert(at, _words(chance, chance.randint(3, 30)))
        case 2:
            del lines[at]
        case 3:
            lines[at] = _words(chance, len(words))
        case 4:
            lines = [_dearer(line, chance) for line in lines]
        case _:
            lines[at] = " ".join([*words[:place], _words(chance, 3), *words[place:]])
    return lines


def _pairs(chance: random.Random) -> Iterator[tuple[str, list[tuple[str, str, bool]]]]:
    """Yield each URL of a host with its pairs of versions, and whether they have an edit."""
    kinds = chance.sample(_NOISE, chance.randint(2, 5))
    for _ in range(URLS):
        yield from _versions(kinds, chance)


def _versions(
    kinds: list[Callable[[random.Random], str]], chance: random.Random
) -> Iterator[tuple[str, list[tuple[str, str, bool]]]]:
    page, made, edits = _page(chance), list[str](), list[bool]()
    places = sorted(chance.randrange(len(page)) for _ in kinds)
    for number in range(VERSIONS):
        if number:
            before, page = page, _edited(page, chance) if chance.random() < 0.5 else page
            edits.append(page != before)
        lines = list(page)
        for place, kind in zip(places, kinds, strict=True):
            lines.insert(min(place, len(lines)), kind(chance))
        made.append("\n".join(lines))
    yield f"/{chance.random()}", list(zip(made, made[1:], edits, strict=False))


def measure_noise(seed: int) -> tuple[float, float, int]:
    """Return the recall, the false alarm rate and the number of pairs."""
    chance, outcomes = random.Random(seed), []
    for _ in range(HOSTS):
        noise, found = HostNoise(), []
        for url, pairs in _pairs(chance):
            for old, new, is_edited in pairs:
                changes = text_changes(old, new)
                noise.learn(url, changes)
                found.append((changes, is_edited))
        outcomes += [(bool(noise.without(changes)), edited) for changes, edited in found]
    edits = [told for told, is_edited in outcomes if is_edited]
    others = [told for told, is_edited in outcomes if not is_edited]
    return sum(edits) / len(edits), sum(others) / len(others), len(outcomes)


def measure_speed() -> float:
    """Return the core-hours of a million comparisons, with learning."""
    chance, noise = random.Random(3), HostNoise()
    pairs = [pair for _ in range(SPEED_PAIRS // 20) for _, some in _pairs(chance) for pair in some]
    began = time.process_time()
    for old, new, _ in pairs:
        changes = text_changes(old, new)
        noise.learn("", changes)
        noise.without(changes)
    return (time.process_time() - began) / len(pairs) * 1e6 / 3600


def main() -> None:
    """Print the figures."""
    for seed in (1, 2, 3):
        recall, alarms, pairs = measure_noise(seed)
        print(f"seed {seed}: {pairs} pairs, recall {recall:.3f}, false alarms {alarms:.3f}")
    print(f"a million comparisons: {measure_speed():.2f} core-hours")


if __name__ == "__main__":
    main()
