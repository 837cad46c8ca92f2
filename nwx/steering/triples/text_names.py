"""Names in the text of pages, as the language model finds them."""

from collections import Counter

from nwx.steering.analysis.page_view import PageView
from nwx.steering.structured.mentions import LONGEST_NAME, Mention

_MOST_NAMES = 200
"""So many names of one page are kept, those that it mentions most often."""


class TextNames:
    """Finds names in pages; the first pages of each language take longer."""

    def __init__(self) -> None:
        # Imported here: its dictionaries take a while to load.
        from nwx.steering.analysis.language.dictionary_model import DictionaryModel

        self._model = DictionaryModel()

    def __call__(self, page: PageView) -> list[Mention]:
        """Return the names in the text of a page, most frequent first."""
        found = Counter(
            (name.text[:LONGEST_NAME], name.kind)
            for name in self._model.names(page.content, page.language)
        )
        return [
            Mention(text, kind, times=count)
            for (text, kind), count in found.most_common(_MOST_NAMES)
        ]
