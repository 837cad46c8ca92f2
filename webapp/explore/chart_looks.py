"""How charts look to a reader: colours of a scheme, numbers and words of the page's language."""

from collections.abc import Mapping
from typing import Any

from nwx.charts import fields
from nwx.charts.fields import Spec
from webapp.site.reader_language import page_locale

_NAMES = frozenset({"field", "host", "source", "target"})
"""What a specification has under these keys is no word for people."""


def chart_looks(scheme: str, *, background: bool = False) -> Spec:
    """Return the Vega configuration of a scheme, as `theme.config` has it, with number signs."""
    signs = page_locale().number_symbols["latn"]
    number = {
        "decimal": signs["decimal"],
        "thousands": signs["group"],
        "grouping": [3],
        "currency": ["", ""],
    }
    return {**fields.config(scheme, background=background), "locale": {"number": number}}


def with_words(spec: Any, words: Mapping[str, str]) -> Any:
    """Return a specification with words replaced by others, in titles, scales and values."""
    if isinstance(spec, str):
        return words.get(spec, spec)
    if isinstance(spec, list):
        return [with_words(one, words) for one in spec]
    if isinstance(spec, dict):
        return {key: one if key in _NAMES else with_words(one, words) for key, one in spec.items()}
    return spec
