"""Templates compiled once for all applications of a test process.

An application compiles each template for each language, which took a seventh of the time of tests
of pages.
"""

from types import CodeType
from typing import Any

from jinja2.bccache import Bucket, BytecodeCache
from jinja2.environment import Environment

from webapp.site.words import TranslatedEnvironment, get_locale


class CompiledTemplates(BytecodeCache):
    """Keeps the code of templates by name and source."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Set the code of a bucket if its template was compiled before."""
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a bucket."""
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code


_of_languages: dict[str, CompiledTemplates] = {}


def overlay_with_code(environment: TranslatedEnvironment, **options: Any) -> Environment:
    """Return an overlay for the language of the page that shares the code of its templates."""
    language = str(get_locale())
    compiled = _of_languages.setdefault(language, CompiledTemplates())
    return Environment.overlay(environment, bytecode_cache=compiled, **options)
