"""Access rules: restrictions on captures by scope, viewer and time."""

import hashlib
import ipaddress
from dataclasses import astuple, replace
from enum import StrEnum

from nwx.data_classes import dataclass
from nwx.errors import NwxError, UsageError
from nwx.values.digests import normal_digest
from nwx.values.timestamps import normal_timestamp

MOST_TEXT_CHARACTERS = 2_000
"""The length limit of a rule's reason, and of names of files, collections and users in it."""

LONGEST_PREFIX = 8_000
"""The longest URL or prefix of a rule."""

MOST_VIEWERS = 1_000
"""The most addresses, and the most users, that one rule may name."""

MOST_YEARS = 1_000
"""The longest embargo in years after the capture."""

_ID_DIGITS = 12


class Action(StrEnum):
    """The effect of an access rule on the captures of its scope.

    `allow`: shown. `exclude`: treated as not in the archive. `block`: left out of all lists; a
    request for the address itself reports that it is blocked. `embargo`: blocked until a date, or
    for some years after each capture. `local`: blocked except for the viewers named.
    """

    ALLOW = "allow"
    BLOCK = "block"
    EXCLUDE = "exclude"
    EMBARGO = "embargo"
    LOCAL = "local"


STRICTNESS: dict[Action, int] = {
    Action.EXCLUDE: 4,
    Action.BLOCK: 3,
    Action.EMBARGO: 2,
    Action.LOCAL: 1,
    Action.ALLOW: 0,
}
"""The strictness of actions: of otherwise equal rules, the one with the higher number applies."""


class Role(StrEnum):
    """The role of a user: may read, describe and judge, or administer the archive."""

    READER = "reader"
    CURATOR = "curator"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class Viewer:
    """The sender of a request: network address, user name ("" if not logged in) and role."""

    address: str = ""
    user: str = ""
    role: Role = Role.READER

    @property
    def sees_all(self) -> bool:
        """Whether rules hide nothing from this viewer, as for curators and administrators."""
        return self.role in (Role.CURATOR, Role.ADMINISTRATOR)


EVERYBODY = Viewer()
"""An anonymous reader."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The captures a rule applies to: all parts that are not "" must match.

    `url` is the URL as given and has no effect itself. `prefix` is the start of urlkeys, with
    `is_exact` the whole urlkey. A host is `com,example)/` and includes all its ports; a domain is
    `com,example` and includes its hosts; a folder `com,example)/a/` includes `com,example)/a`.
    `source_file` is a file name; a WACZ includes the files inside. `date_from` and `date_to` are 14
    digits, both inclusive.
    """

    url: str = ""
    prefix: str = ""
    is_exact: bool = False
    digest: str = ""
    collection: str = ""
    source_file: str = ""
    date_from: str = ""
    date_to: str = ""

    @property
    def is_everything(self) -> bool:
        """Whether the scope is the whole archive."""
        return self == Scope(url=self.url, is_exact=self.is_exact)


@dataclass(frozen=True, slots=True)
class AccessRule:
    """An access rule. `id` is "" until the rule is stored (`rule_id`).

    `until` (14 digits) is the end of an embargo, `years` its length after each capture. `addresses`
    (networks in CIDR notation) and `users` are the viewers to whom `local` shows captures; a rule
    of another action that names viewers applies only to them. `reason` is public. `purged`: imports
    leave the captures of the scope out. `made_at` is a timestamp.
    """

    id: str
    action: Action
    scope: Scope
    until: str = ""
    years: int | None = None
    addresses: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    reason: str = ""
    made_at: str = ""
    made_by: str = ""
    purged: bool = False

    @property
    def names_viewers(self) -> bool:
        """Whether the rule names viewers, to whom it applies or shows captures."""
        return bool(self.addresses or self.users)


def viewer_named_by(rule: AccessRule) -> Viewer:
    """Return one of the viewers that a rule names."""
    address = rule.addresses[0].partition("/")[0] if rule.addresses else ""
    return Viewer(address, rule.users[0] if rule.users else "")


def rule_id(rule: AccessRule) -> str:
    """Return the id of a rule: 12 hex digits, the same for the same action, scope and viewers."""
    scope = replace(rule.scope, url="")
    parts = rule.action, astuple(scope), rule.until, rule.years, rule.addresses, rule.users
    digest = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=6)
    return digest.hexdigest()[:_ID_DIGITS]


def checked_rule(rule: AccessRule) -> AccessRule:
    """Return a rule in its normal form, with its id.

    Raises UsageError on an embargo without an end, `local` without viewers, or an invalid date,
    digest or network.
    """
    try:
        checked = replace(
            rule,
            action=Action(rule.action),
            scope=_checked_scope(rule.scope),
            until=_moment(rule.until),
            addresses=tuple(sorted({_network(text) for text in rule.addresses})),
            users=tuple(sorted({user.strip() for user in rule.users})),
            reason=rule.reason.strip(),
        )
    except UsageError:
        raise
    except NwxError as error:
        raise UsageError(error.text) from error
    except ValueError as error:
        raise UsageError(str(error)) from error
    _check_end(checked)
    _check_viewers(checked)
    _check_lengths(checked)
    return replace(checked, id=rule_id(checked))


def _checked_scope(scope: Scope) -> Scope:
    since, to = _moment(scope.date_from), _moment(scope.date_to)
    if since and to and since > to:
        raise UsageError.translated(
            "a rule from %(since)s to %(to)s applies to no date; swap the two",
            since=since,
            to=to,
        )
    if scope.is_exact and not scope.prefix:
        raise UsageError.translated("a rule about an exact URL needs the URL")
    return replace(
        scope,
        digest=normal_digest(scope.digest) if scope.digest else "",
        date_from=since,
        date_to=to,
    )


def _moment(text: str) -> str:
    return normal_timestamp(text) if text else ""


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text.strip(), strict=False))
    except ValueError as error:
        raise UsageError.translated(
            "%(text)s is not a network; give an address, or a network such as 10.0.0.0/8",
            text=repr(text[:60]),
        ) from error


def _check_end(rule: AccessRule) -> None:
    is_embargo, has_end = rule.action is Action.EMBARGO, bool(rule.until or rule.years is not None)
    if is_embargo and not has_end:
        raise UsageError.translated("an embargo needs its end: a date, or years after the capture")
    if has_end and not is_embargo:
        raise UsageError.translated(
            "only an embargo has an end, not %(action)s", action=rule.action
        )
    if rule.until and rule.years is not None:
        raise UsageError.translated(
            "an embargo ends at a date or some years after the capture, not both"
        )
    if rule.years is not None and not 0 < rule.years <= MOST_YEARS:
        raise UsageError.translated(
            "an embargo lasts 1 to %(most)s years, not %(years)s", most=MOST_YEARS, years=rule.years
        )


def _check_viewers(rule: AccessRule) -> None:
    if rule.action is Action.LOCAL and not rule.names_viewers:
        raise UsageError.translated(
            "a local rule needs the addresses or users that may see the captures"
        )
    if max(len(rule.addresses), len(rule.users)) > MOST_VIEWERS:
        raise UsageError.translated(
            "a rule has at most %(most)s addresses and %(most)s users", most=MOST_VIEWERS
        )
    if "" in rule.users:
        raise UsageError.translated("the name of a user is empty")


def _check_lengths(rule: AccessRule) -> None:
    scope = rule.scope
    if max(len(scope.url), len(scope.prefix)) > LONGEST_PREFIX:
        raise UsageError.translated(
            "a URL of a rule has at most %(most)s characters", most=LONGEST_PREFIX
        )
    texts = rule.reason, rule.made_by, scope.collection, scope.source_file, *rule.users
    if max(map(len, texts)) > MOST_TEXT_CHARACTERS:
        raise UsageError.translated(
            "a text of a rule has at most %(most)s characters", most=MOST_TEXT_CHARACTERS
        )
