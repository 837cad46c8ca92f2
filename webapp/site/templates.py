"""Templates: translated when they are compiled, with addresses that are made once."""

import re
import threading
from collections.abc import Callable, MutableMapping
from functools import lru_cache
from typing import Any

import flask_babel
from flask import Flask, has_request_context, request, url_for
from flask.templating import Environment
from flask_babel import get_locale
from jinja2 import Template, nodes
from jinja2.compiler import CodeGenerator
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, escape

from webapp.site.words import filters_in

_KEPT = 4_096
_PLAIN = frozenset((str, int, type(None)))


def kept_addresses() -> Callable[..., str]:
    """Return what gives addresses as `url_for` does, for one application.

    Those that were asked for lately are kept: each page has the same ones
    at its top, and building one takes much longer than looking it up. What
    depends on more than the path that the service is found at is built
    anew: whole addresses, and those of the same blueprint.
    """

    @lru_cache(_KEPT)
    def kept(root: str, endpoint: str, values: tuple[tuple[str, Any], ...]) -> str:
        return url_for(endpoint, **dict(values))

    def address(endpoint: str, **values: Any) -> str:
        if _PLAIN.issuperset(map(type, values.values())) and _is_path(endpoint, values):
            return kept(request.script_root, endpoint, tuple(values.items()))
        return url_for(endpoint, **values)

    return address


def _is_path(endpoint: str, values: dict[str, Any]) -> bool:
    """Tell whether an address is a path that is the same on all pages."""
    return has_request_context() and not endpoint.startswith(".") and "_external" not in values


_MARKUP = re.compile("[&<>'\"]")
_GETTEXT = ("_", "gettext")


class _PageCodeGenerator(CodeGenerator):
    """Has what a template writes escaped by `written` of its environment."""

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or not frame.eval_ctx.autoescape or finalize.src is not None:
            super()._output_child_pre(node, frame, finalize)
        else:
            self.write("environment.written(")


class TranslatedEnvironment(Environment):
    """Gives the templates of the language that whoever asks reads.

    Looking up a message and marking it as safe takes longer than writing
    it: a page has a hundred of them. So each language has an environment
    of its own, which shares all but the compiled templates. Messages whose
    form depends on a number are looked up when a page is made.
    """

    code_generator_class = _PageCodeGenerator

    def __init__(self, app: Flask, **options: Any) -> None:
        super().__init__(app, **options)
        self._guard = threading.Lock()
        self._of_languages: dict[str, TranslatedEnvironment] = {}
        self._messages: _Messages | None = None

    def get_template(
        self,
        name: str | Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,
    ) -> Template:
        """Return a template in the language of the page."""
        return super(TranslatedEnvironment, self._of_page()).get_template(name, parent, globals)

    @staticmethod
    def written(value: object) -> str:
        """Return a value as the text of a page, which is joined and not escaped again."""
        if type(value) is Markup or (type(value) is str and not _MARKUP.search(value)):
            return value
        return str(value) if type(value) is int else escape(value)

    def _of_page(self) -> "TranslatedEnvironment":
        if self._messages is not None:
            return self  # the template of a language includes others of it
        locale = get_locale()
        if locale is None:
            return self
        found = self._of_languages.get(locale.language)
        return found or self._added(locale.language)

    def _added(self, language: str) -> "TranslatedEnvironment":
        with self._guard:
            if language not in self._of_languages:
                made, translations = self.overlay(), _translations()
                made.filters = self.filters | filters_in(language)
                made.globals = self.globals | {"ngettext": _plural_messages(translations)}
                made._messages = _Messages(translations)
                self._of_languages[language] = made
            return self._of_languages[language]

    def _generate(self, source: nodes.Template, *given: Any, **options: Any) -> str:
        """Return the Python code of a template; this is a hook of Jinja."""
        if self._messages is not None:
            self._messages.visit(source)
            source.set_environment(self)
        return super()._generate(source, *given, **options)


def _translations() -> Any:
    """Return the messages in the language of the page."""
    return flask_babel.get_translations()  # type: ignore[attr-defined]  # missing in its stub


def _plural_messages(translations: Any) -> Callable[..., Markup]:
    """Return `ngettext` of templates for the messages of a language."""

    def ngettext(singular: str, plural: str, number: int, /, **values: Any) -> Markup:
        values.setdefault("num", number)
        return Markup(translations.ungettext(singular, plural, number)) % values

    return ngettext


class _Messages(NodeTransformer):
    """Puts translations in the place of the calls that look them up."""

    def __init__(self, translations: Any) -> None:
        self._translated = translations.ugettext

    def get_visitor(self, node: nodes.Node) -> Any:
        """Return what visits a node, None where only those in it are looked at."""
        return self._visit_call if isinstance(node, nodes.Call) else None

    def _visit_call(self, node: nodes.Call) -> nodes.Expr:
        """Return what takes the place of a call, the call itself where it is no message."""
        self.generic_visit(node)
        message = _message(node)
        if message is None:
            return node
        text = self._translated(message)
        if not node.kwargs:
            return _safe(text % {}, node)
        line = node.lineno
        values = [
            nodes.Pair(nodes.Const(one.key, lineno=line), one.value, lineno=line)
            for one in node.kwargs
        ]
        return nodes.Mod(_safe(text, node), nodes.Dict(values, lineno=line), lineno=line)


def _message(node: nodes.Call) -> str | None:
    """Return the message that a call looks up, None where it is another call."""
    if not (isinstance(node.node, nodes.Name) and node.node.name in _GETTEXT):
        return None
    plain = len(node.args) == 1 and node.dyn_args is None and node.dyn_kwargs is None
    return node.args[0].value if plain and isinstance(node.args[0], nodes.Const) else None


def _safe(text: str, node: nodes.Call) -> nodes.Expr:
    """Return a message as text of a page: it may have markup, its values are escaped."""
    return nodes.MarkSafeIfAutoescape(nodes.Const(text, lineno=node.lineno), lineno=node.lineno)
