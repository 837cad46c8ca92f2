"""Names in the text of pages, as a language model finds them."""

from collections import Counter

from nwx.steering.analysis.language.language_model import LanguageModel, NameKind
from nwx.steering.analysis.page_view import PageView
from nwx.steering.specifications.specification import EntityKind
from nwx.steering.structured.mentions import LONGEST_NAME, Mention

_MOST_NAMES = 200
"""So many names of one page are kept, those that it mentions most often."""


class TextNames:
    """Finds names in pages; the first pages of each language take longer."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def __call__(self, page: PageView) -> list[Mention]:
        """Return the names in the text of a page, most frequent first; dates are none."""
        reading = self._model.read(page.content, page.language)
        found = Counter(
            (name.text[:LONGEST_NAME], EntityKind(name.kind.value))
            for name in self._model.names(page.content, reading, page.language)
            if name.kind is not NameKind.DATE
        )
        return [
            Mention(text, kind, times=count)
            for (text, kind), count in found.most_common(_MOST_NAMES)
        ]
