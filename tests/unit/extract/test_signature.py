"""Signatures: equal for near-identical texts, different for others."""

import random
import re
from collections import Counter

import pytest

from nwx.extract.signature import signature_of

STORY = (
    "The harbour light burns every night. The keeper of the light climbs the steps of the tower, "
    "and the steps of the tower are ninety-two. Every night the ferry waits for the light, and "
    "the keeper waits for the ferry. The letters of the town lie in the ferry, and the bread of "
    "the town lies beside the letters. When the fog comes, the bell of the church rings for the "
    "ferry, and the keeper rings the bell of the harbour. "
)
CHINESE = (
    "灯港是一座靠海的小城。每天傍晚，渔民出海以前，老人们会在码头上点亮一排灯笼。孩子们相信，灯笼数得越多，鱼就越多。"
    "灯港的老人们说，灯笼是渔民的星星，渔民的孩子们在码头上数灯笼。"
)


def test_form() -> None:
    assert re.fullmatch("[0-9a-f]{16}", signature_of(STORY))


def test_dates_and_counters_do_not_matter() -> None:
    first = STORY + "\nVisitor 1,204. Printed on Friday, 3 May 2013, 12:01."
    second = STORY + "\nVisitor 99,117. Printed on Sunday, 17 November 2019, 8:44."
    assert signature_of(first) == signature_of(second)


def test_case_order_and_punctuation_do_not_matter() -> None:
    sentences = STORY.strip().split(". ")
    assert signature_of(". ".join(reversed(sentences)).upper()) == signature_of(STORY)


def test_other_words_matter() -> None:
    assert signature_of(STORY.replace("keeper", "baker")) != signature_of(STORY)


def test_scripts_without_spaces() -> None:
    signature = signature_of(CHINESE * 2)
    assert signature
    assert signature_of(CHINESE * 2 + "\n2013年5月3日") == signature
    assert signature_of(CHINESE.replace("灯笼", "石头") * 2) != signature


@pytest.mark.parametrize("text", ["", "Not found", "word " * 40, "a b c " * 100, "1 2 3 " * 500])
def test_short_or_empty_texts_have_none(text: str) -> None:
    assert signature_of(text) == ""


def test_profiles_are_those_of_counted_words() -> None:
    """Two texts have equal signatures exactly where the plain definition says so."""
    chance = random.Random(1)
    stems = [
        *("abcd", "efgh", "ijkl", "mnop", "qrst"),
        *"the of a light 1st été tower house water paper international".split(),
        *("internationalization", "灯港"),
    ]
    texts = [" ".join(chance.choices(stems, k=chance.choice((49, 60, 600)))) for _ in range(300)]
    texts += [f"{text}\nvisitor 12" for text in texts]
    plain = {}
    for text in texts:
        assert plain.setdefault(_profile(text), signature_of(text)) == signature_of(text)
    assert len(set(plain.values())) == len(plain)


def _profile(text: str) -> tuple[tuple[bytes, int], ...]:
    words = re.sub("[0-9]", " ", text).split()
    counts = Counter(word.encode()[:8] for word in words if len(word.encode()) > 3)
    step = max(round(max(counts.values()) * 0.01), 2)
    profile = {word: count // step for word, count in counts.items() if count >= step}
    return tuple(sorted(profile.items())) if len(words) >= 50 and len(profile) >= 10 else ()
