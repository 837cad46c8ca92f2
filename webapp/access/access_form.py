"""Access rules, and captures to test them with, as forms give them."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from flask_babel import gettext

from nwx.engine.access.rules import AccessRule, Action, Scope, Viewer
from nwx.engine.access.scope_texts import between, scope_of, url_scope
from nwx.errors import ErrorText, UsageError
from nwx.values.timestamps import to_timestamp
from webapp.site import parameters

RULE_FIELDS = (
    *("action", "what", "collection", "from", "to", "until", "years"),
    *("users", "addresses", "reason"),
)
TEST_FIELDS = ("url", "collection", "date", "user", "address")
MOST_FIELD_CHARACTERS = 10_000
_SEPARATORS = re.compile(r"[\s,;]+")


@dataclass(frozen=True, slots=True)
class AskedCapture:
    """A capture as somebody asks about it, whether there is one or not."""

    urlkey: str
    url: str
    timestamp: str
    collection: str = ""
    digest: str = ""
    source_file: str = ""


def rule_of_form(form: parameters.Arguments) -> AccessRule:
    """Return the rule that a form describes; raises UsageError where it is none."""
    values = {name: parameters.text(form, name, MOST_FIELD_CHARACTERS) for name in RULE_FIELDS}
    if values["action"] not in set(Action):
        raise UsageError(gettext("choose an action"))
    if not values["what"]:
        raise UsageError(gettext("say what the rule is about; * is all captures"))
    if not values["reason"]:
        raise UsageError(gettext("a rule needs a reason"))
    scope = replace(scope_of(values["what"]), collection=values["collection"])
    return AccessRule(
        id="",
        action=Action(values["action"]),
        scope=between(scope, values["from"], values["to"]),
        until=values["until"],
        years=_years(values["years"]),
        addresses=_listed(values["addresses"]),
        users=_listed(values["users"]),
        reason=values["reason"],
    )


def tested_of_form(form: parameters.Arguments) -> tuple[AskedCapture, Viewer]:
    """Return the capture, and who asks for it, of a form; raises UsageError for no URL."""
    values = {name: parameters.text(form, name, MOST_FIELD_CHARACTERS) for name in TEST_FIELDS}
    date = between(Scope(), values["date"], "").date_from
    capture = AskedCapture(
        urlkey=url_scope(values["url"].rstrip("*")).prefix,
        url=values["url"],
        timestamp=date or to_timestamp(datetime.now(UTC)),
        collection=values["collection"],
    )
    return capture, Viewer(values["address"], values["user"])


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, _SEPARATORS.split(text)))


def _years(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 5):
        raise UsageError(ErrorText("%(text)s is no number of years", text=repr(text[:20])))
    return int(text)
