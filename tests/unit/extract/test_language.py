"""Languages: what is told, and what is better left open."""

import pytest

from nwx.extract.language import language_of

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
