"""Names in the text of pages."""

from nwx.steering.analysis.language.dictionary_model import DictionaryModel
from nwx.steering.specifications.specification import EntityKind
from nwx.steering.triples.text_names import TextNames
from tests.unit.steering.structured.pages import view


def test_names_are_mentions_that_are_counted() -> None:
    text = "Dr Ada Lovelace met Charles Babbage in London. Dr Ada Lovelace wrote. "
    found = TextNames(DictionaryModel())(view(f"<html lang=en><p>{text * 3}</p></html>"))
    assert ("Ada Lovelace", EntityKind.PERSON) in [(one.name, one.kind) for one in found]
    assert len(found) == len(set(found))
    assert [one.times for one in found] == sorted((one.times for one in found), reverse=True)
