"""Every script is searchable, and accents are folded."""

import pytest

from nwx.engine.base import Engine
from nwx.query.tree import Fuzzy, Phrase, Term, Wildcard
from tests.conformance.archive import batch, page
from tests.conformance.asking import ask

ABOVE_ENGINES = ("test_a_word_of_a_script",)

TEXTS = {
    "chinese": "中华人民共和国的首都是北京",
    "japanese": "東京都の予算について カタカナ ひらがな",
    "korean": "서울특별시 예산 보고서",
    "arabic": "ميزانية المدينة لعام ٢٠١٠",
    "hebrew": "תקציב העירייה צה״ל",
    "persian": "بودجه می‌خواهم",
    "greek": "Ο προϋπολογισμός της ΑΘΉΝΑΣ",
    "russian": "Бюджет города Москвы ёлка",
    "thai": "งบประมาณ ของเมือง",
    "hindi": "नगर का बजट",
    "tamil": "நகர பட்ஜெட்",
    "armenian": "Քաղաքի բյուջեն",
    "georgian": "ქალაქის ბიუჯეტი",
    "amharic": "የከተማ በጀት",
    "french": "L’été à l'Élysée: œuvre, cœur, naïve, façade",
    "german": "Größe, Straße, ÜBERGRÖSSE",
    "polish": "Zażółć gęślą jaźń Łódź",
    "turkish": "İstanbul ırmağı",
    "vietnamese": "Ngân sách thành phố Việt Nam",
    "icelandic": "Þórður Ægir",
    "emoji": "party 🎉 time",
    "wide": "ＦＵＬＬ ｗｉｄｔｈ",
    "mixed": "iPhone15で東京へ",
}
BATCHES = [batch([page(f"http://a.test/{name}", "2010", text) for name, text in TEXTS.items()])]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("北京", "chinese"),
        ("首都", "chinese"),
        ("京", "chinese japanese mixed"),
        ("東京", "japanese mixed"),
        ("京北", ""),
        ("カタカナ", "japanese"),
        ("ひら", "japanese"),
        ("예산", "korean"),
        ("ميزانية", "arabic"),
        ("٢٠١٠", "arabic"),
        ("תקציב", "hebrew"),
        ("צה״ל", "hebrew"),
        ("می‌خواهم", "persian"),
        ("ΑΘΉΝΑΣ", "greek"),
        ("της", "greek"),
        ("προϋπολογισμός", "greek"),
        ("БЮДЖЕТ", "russian"),
        ("москвы", "russian"),
        ("งบประมาณ", "thai"),
        ("बजट", "hindi"),
        ("பட்ஜெட்", "tamil"),
        ("բյուջեն", "armenian"),
        ("ბიუჯეტი", "georgian"),
        ("በጀት", "amharic"),
        ("l'ete", "french"),
        ("ete", "french"),
        ("l’été", "french"),
        ("l'elysee", "french"),
        ("oeuvre", "french"),
        ("cœur", "french"),
        ("naive", "french"),
        ("facade", "french"),
        ("grosse", "german"),
        ("größe", "german"),
        ("strasse", "german"),
        ("übergrösse", "german"),
        ("zazolc", "polish"),
        ("lodz", "polish"),
        ("istanbul", "turkish"),
        ("irmagi", "turkish"),
        ("viet nam", "vietnamese"),
        ("thanh pho", "vietnamese"),
        ("thordur", "icelandic"),
        ("aegir", "icelandic"),
        ("🎉", "emoji"),
        ("full", "wide"),
        ("ＷＩＤＴＨ", "wide"),
        ("iphone15", "mixed"),
    ],
)
def test_a_word_of_a_script(archive: Engine, word: str, expected: str) -> None:
    assert ask(archive, Term("", word)) == set(expected.split())
    assert ask(archive, Phrase("content", word)) == set(expected.split())


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("бюдж*", "russian"),
        ("ÉLYS*", "french"),
        ("*élys*", "french"),
        ("예*", "korean"),
        ("งบ*", "thai"),
        ("Zaż?łć", "polish"),
        ("zazo?lc", ""),
        ("京*", "chinese japanese mixed"),
        ("ŒU*", "french"),
        ("ß*", ""),
        ("*ß?", "german"),
    ],
)
def test_a_pattern_of_a_script(archive: Engine, pattern: str, expected: str) -> None:
    assert ask(archive, Wildcard("content", pattern)) == set(expected.split())


@pytest.mark.parametrize(
    ("word", "distance", "expected"),
    [
        ("бюджеты", 1, "russian"),
        ("Łódzź", 1, "polish"),
        ("예산안", 1, "korean"),
        ("προυπολογισμος", 2, "greek"),
        ("προυπολογισμος", 1, ""),
    ],
)
def test_a_likeness_of_a_script(archive: Engine, word: str, distance: int, expected: str) -> None:
    assert ask(archive, Fuzzy("content", word, distance)) == set(expected.split())
