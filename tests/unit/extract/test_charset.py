"""The character encoding of a payload."""

import pytest

from nwx.extract.charset import codec_name, decode

GERMAN = "Die Straße führt über schöne Brücken zum Hafen – „Grüße“"
RUSSIAN = "Маячный стоит на берегу холодного моря, и зимой солнце здесь почти не встаёт"
KOREAN = "등대항은 바닷가의 작은 도시입니다. 저녁이 되면 등대에 불이 켜지고 고깃배들이 돌아옵니다"
CHINESE = "灯港是一座靠海的小城。每天傍晚，渔民出海以前，老人们会在码头上点亮一排灯笼"
JAPANESE = "灯ヶ浦は小さな港町です。夕方になると、岬の灯台に明かりがともります"
TAIWANESE = "燈港是一座靠海的小城。每天傍晚，漁民出海以前，老人們會在碼頭上點亮一排燈籠"
GREEK = "Ο Φάρος είναι ένα μικρό νησί με ένα λιμάνι και τριακόσιες γάτες"
POLISH = "Zażółć gęślą jaźń w małym porcie"
THAI = "เมืองของเราอยู่ริมทะเล มีประภาคารเก่าแก่"

LABELLED = [
    ("iso-8859-1", "cp1252", GERMAN),
    ("windows-1251", "cp1251", RUSSIAN),
    ("koi8-r", "koi8-r", RUSSIAN),
    ("euc-kr", "cp949", KOREAN),
    ("ks_c_5601-1987", "cp949", KOREAN),
    ("gb2312", "gb18030", CHINESE),
    ("big5", "big5", TAIWANESE),
    ("shift_jis", "cp932", JAPANESE),
    ("x-sjis", "cp932", JAPANESE),
    ("euc-jp", "euc_jp", JAPANESE),
    ("iso-2022-jp", "iso2022_jp", JAPANESE),
    ("iso-8859-2", "iso8859-2", POLISH),
    ("iso-8859-7", "iso8859-7", GREEK),
    ("tis-620", "cp874", THAI),
    ("utf-8", "utf-8", RUSSIAN),
]


@pytest.mark.parametrize(("label", "codec", "text"), LABELLED)
def test_http_header(label: str, codec: str, text: str) -> None:
    assert decode(text.encode(codec), f'text/html; Charset="{label}"') == text
    assert decode(text.encode(codec), "text/html", label) == text


@pytest.mark.parametrize(("label", "codec", "text"), LABELLED)
def test_meta(label: str, codec: str, text: str) -> None:
    for meta in (
        f'<meta charset="{label}">',
        f'<META content="text/html; charset={label}" HTTP-EQUIV="Content-Type">',
        f'<?xml version="1.0" encoding="{label}"?>',
    ):
        data = meta.encode() + text.encode(codec)
        assert decode(data) == meta + text


def test_header_goes_before_meta() -> None:
    data = b"<meta charset=windows-1251>" + GREEK.encode("iso8859-7")
    assert decode(data, "text/html; charset=iso-8859-7").endswith(GREEK)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_mark(codec: str) -> None:
    assert decode(RUSSIAN.encode(codec), "text/html; charset=iso-8859-1") == RUSSIAN


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_mark(codec: str) -> None:
    page = f"<html><title>{GERMAN}</title>"
    assert decode(page.encode(codec)) == page


@pytest.mark.parametrize(
    ("codec", "text"),
    [("utf-8", RUSSIAN), ("cp1251", RUSSIAN * 3), ("cp1252", GERMAN), ("cp949", KOREAN * 3)],
)
def test_nothing_said(codec: str, text: str) -> None:
    assert decode(text.encode(codec)) == text


@pytest.mark.parametrize("label", ["iso-8859-1", "windows-1251", "us-ascii"])
def test_utf_8_under_a_wrong_label(label: str) -> None:
    assert decode(GERMAN.encode(), "text/html; charset=" + label) == GERMAN


def test_label_that_fits_badly_is_passed_over() -> None:
    data = b"<meta charset=euc-kr>" + (KOREAN * 3).encode("cp949")
    assert decode(data, "text/html; charset=utf-8").endswith(KOREAN)


def test_a_few_bad_bytes_do_not_unseat_a_label() -> None:
    data = (RUSSIAN * 5).encode() + b"\xff"
    assert decode(data, "text/html; charset=utf-8") == RUSSIAN * 5 + "\ufffd"


@pytest.mark.parametrize(
    "label", ["", "klingon", "rot13", "hex", "idna", "utf-7", "a" * 100, "\x00", "base64"]
)
def test_labels_that_are_none(label: str) -> None:
    assert codec_name(label) == ""
