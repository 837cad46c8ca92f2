"""The option `--nlp`."""

import pytest

from nwx.errors import UsageError
from nwx.steering.analysis.language.chosen_model import chosen_model
from nwx.steering.analysis.language.dictionary_model import DictionaryModel


def test_dictionaries_are_the_default() -> None:
    assert isinstance(chosen_model(), DictionaryModel)


@pytest.mark.parametrize("nlp", ["spacy", "spacy:", "nltk:x"])
def test_unknown_models_are_refused(nlp: str) -> None:
    with pytest.raises(UsageError, match="--nlp takes spacy:MODEL"):
        chosen_model(nlp)
