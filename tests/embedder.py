"""An embedder for tests: reads and writes lines of JSON; words of a topic mean nearly the same."""

import hashlib
import json
import sys
from collections.abc import Sequence

DIMENSIONS = 24
TOPICS = (
    "car automobile vehicle motor",
    "ship vessel boat harbour",
    "bread bakery loaf flour",
    "storm tempest gale wind",
    "school pupil teacher lesson",
    "music song concert choir",
)
_TOPIC_OF = {word: topic for topic, words in enumerate(TOPICS) for word in words.split()}


def vector(text: str) -> list[float]:
    """Return the vector of a text: its topics weigh more than its words."""
    found = [0.0] * DIMENSIONS
    for word in text.lower().split():
        if word in _TOPIC_OF:
            found[_TOPIC_OF[word]] += 3.0
        for place, byte in enumerate(hashlib.sha256(word.encode()).digest()[:DIMENSIONS]):
            found[place] += (byte - 127.5) / 127.5
    return found


def main(words: Sequence[str]) -> None:
    """Answer lines until there are none; the word `fail` makes the command fail instead."""
    for line in sys.stdin:
        texts = json.loads(line)["texts"]
        if "fail" in words:
            sys.exit(3)
        print(json.dumps({"vectors": [vector(text) for text in texts]}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
