"""Normalization of text for storage."""

import random
import re
from collections import Counter

import pytest

from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  a \n b\t", "a b"),
        ("soft\u00adhyphen \u200bzero", "softhyphen zero"),
        ("a\x00b\x1bc", "abc"),
        ("lone\ud800surrogate", "lonesurrogate"),
        ("Pra\u0301va", "Pr\u00e1va"),
    ],
)
def test_clean_line(text: str, line: str) -> None:
    assert clean_line(text) == line


def test_blocks_become_lines_and_empty_ones_vanish() -> None:
    assert clean_blocks(f" a  b{BLOCK}{BLOCK}\n{BLOCK}c", 100) == ("a b\nc", False)


def test_a_text_is_cut_at_its_limit() -> None:
    text, cut = clean_blocks("word " * 100, 22)
    assert (text, cut) == ("word word word word wo", True)


def test_prose_leaves_menus_out_unless_there_is_little_else() -> None:
    long = "A sentence that is long enough to be prose and no menu entry. " * 4
    assert prose(f"Home\nNews\n{long}") == long
    assert prose("Home\nNews") == "Home\nNews"


@pytest.mark.parametrize("spaces", [" \n\t", " \x1c\x1f", " \xa0", " \xa0\u2003\u3000\x85"])
def test_white_space_and_borders_of_blocks_become_one_character(spaces: str) -> None:
    chance = random.Random(3)
    for _ in range(200):
        text = "".join(chance.choices(f"{spaces}{BLOCK}{BLOCK}aé語", k=chance.randint(0, 12)))
        lines = [" ".join(block.split()) for block in text.split(BLOCK)]
        assert clean_blocks(text, 100) == ("\n".join(filter(None, lines)), False)


TEXTS = {
    "en": "The harbour light burns every night, and somebody climbs the steps to see that all is "
    "well before the ferry leaves for the island with letters, bread and two school classes.",
    "de": "Die Straße zum Hafen heißt Lampengasse, weil hier jeden Abend ein Laternenanzünder "
    "ging. Der letzte hörte auf, als die Stadt elektrisches Licht bekam, und schrieb ein Buch.",
    "fr": "Chaque été, les élèves de nos deux écoles se rencontrent. Ils apprennent à naviguer, "
    "à faire des crêpes et à se disputer dans deux langues, puis ils s'écrivent tout l'hiver.",
    "ru": "В городском архиве хранятся судовые журналы, письма полярников и рецепт ухи, который "
    "никто не может прочитать до конца. Мы рады каждому гостю, приезжайте летом.",
    "ar": "تقع مدينتنا على شاطئ البحر الأبيض المتوسط، وفيها منارة قديمة بناها البحارة قبل سبعة "
    "قرون. في كل مساء يجتمع الناس قرب الميناء ليشربوا الشاي ويحكوا قصص السفن.",
    "he": "העיר שלנו יושבת על שפת הים, ובקצה שובר הגלים עומד מגדלור ישן. בכל ערב מדליקים את האור, "
    "והדייגים חוזרים הביתה עם דגים ועם סיפורים.",
    "hi": "दीपनगर समुद्र के किनारे बसा एक छोटा शहर है। हर शाम लोग बंदरगाह पर दीये जलाते हैं और "
    "मछुआरे उनकी रोशनी देखकर घर लौटते हैं।",
    "el": "Στο μουσείο φυλάμε τα παλιά λυχνάρια και τα ημερολόγια των καπετάνιων.",
    "th": "เมืองของเราอยู่ริมทะเล มีประภาคารเก่าแก่และตลาดเช้าที่คนทั้งเมืองรู้จักกันดี",
    "zh": "灯港是一座靠海的小城。每天傍晚，渔民出海以前，老人们会在码头上点亮一排灯笼。",
    "ja": "灯ヶ浦は小さな港町です。夕方になると、岬の灯台に明かりがともります。",
    "ko": "등대항은 바닷가의 작은 도시입니다. 저녁이 되면 등대에 불이 켜집니다.",
}


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
def test_languages(language: str, text: str) -> None:
    assert language_of(text) == language
    assert language_of(text, "xx") == language


@pytest.mark.parametrize("text", ["", "OK", "12:30 14:45 1999", "Home About Links", "漢字"])
def test_unsure_of_little_text(text: str) -> None:
    assert language_of(text) == ""


def test_declared_language_breaks_a_tie() -> None:
    danish_or_norwegian = "Vi kommer hjem og spiser brød og drikker melk ved bordet i huset vårt."
    assert language_of(danish_or_norwegian, "no") == "no"


def test_declared_language_does_not_beat_the_text() -> None:
    assert language_of(TEXTS["de"], "en-US") == "de"
    assert language_of(TEXTS["ja"], "en") == "ja"


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
    """Two texts have equal signatures exactly if they do by the plain definition."""
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
