"""The language model that a user asks for."""

from nwx.errors import UsageError
from nwx.steering.analysis.language.dictionary_model import DictionaryModel
from nwx.steering.analysis.language.gazetteer import Gazetteer
from nwx.steering.analysis.language.language_model import LanguageModel
from nwx.steering.analysis.language.spacy_model import SpacyModel, load_spacy


def chosen_model(nlp: str = "", gazetteer: Gazetteer | None = None) -> LanguageModel:
    """Return the model of an option `--nlp`: `spacy:MODEL`, or "" for dictionaries and rules.

    Raises UsageError where there is no such model.
    """
    if not nlp:
        return DictionaryModel(gazetteer)
    kind, _, name = nlp.partition(":")
    if kind != "spacy" or not name:
        raise UsageError(f"--nlp takes spacy:MODEL, such as spacy:en_core_web_sm, not {nlp!r}")
    return SpacyModel(load_spacy(name), gazetteer)
