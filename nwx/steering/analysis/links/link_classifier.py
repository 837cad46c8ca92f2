"""Which links are never followed, and which are preferred: rules, spam hosts, traps."""

from collections.abc import Iterable
from typing import NamedTuple

from nwx.steering.analysis.links.link_address import LinkAddress
from nwx.steering.analysis.links.link_roles import LinkRole
from nwx.steering.analysis.links.traps import trap_of, without_session
from nwx.steering.rules.link_rules import LinkRules
from nwx.steering.rules.surt_prefixes import covering_hosts, normal_host
from nwx.steering.specifications.specification import CrawlSpecification

MOST_SPAM_HOSTS = 5_000_000
"""Of a list; what follows is not read."""


class LinkVerdict(NamedTuple):
    """What is decided of a link before it is scored; `reason` says why, in words.

    `outside`: the rules of the action `only` do not cover it. `address` is
    what to score instead of a URL with a session id, "" where there is none.
    """

    blacklisted: bool = False
    outside: bool = False
    preferred: bool = False
    reason: str = ""
    address: str = ""


_NOTHING = LinkVerdict()


class LinkClassifier:
    """The rules of a specification, spam hosts that a user lists, and what traps look like."""

    def __init__(
        self, specification: CrawlSpecification, spam_hosts: frozenset[str] = frozenset()
    ) -> None:
        self._rules = LinkRules(specification.rules) if specification.rules else None
        self._spam_hosts = spam_hosts

    def verdict(
        self, url: str, address: LinkAddress, role: LinkRole, timestamp: str
    ) -> LinkVerdict:
        """Return what is decided of a link; `timestamp` is that of its page."""
        preferred, reason = False, ""
        if self._rules is not None:
            by_rules = self._rules.verdict(url)
            preferred, reason = by_rules.preferred, by_rules.rule
            if by_rules.blacklisted:
                return LinkVerdict(blacklisted=True, reason=reason)
            if by_rules.outside:
                return LinkVerdict(outside=True, reason=reason)
        if self._spam_hosts and (host := self._spam_host(address.host)):
            return LinkVerdict(blacklisted=True, reason=f"spam host {host}")
        if trap := trap_of(url, address, role, timestamp):
            return LinkVerdict(blacklisted=True, reason=f"trap: {trap}")
        if other := without_session(url):
            return LinkVerdict(
                blacklisted=True, reason="trap: session id", address=other, preferred=preferred
            )
        return LinkVerdict(preferred=preferred, reason=reason) if preferred else _NOTHING

    def _spam_host(self, host: str) -> str:
        names = covering_hosts(host.partition(":")[0])
        return next((name for name in names if name in self._spam_hosts), "")


def read_spam_hosts(lines: Iterable[str]) -> frozenset[str]:
    """Return the hosts of a list: one a line, also in the form of a hosts file; `#` is a comment.

    Each stands for its subdomains too.
    """
    hosts: set[str] = set()
    for line in lines:
        words = line.partition("#")[0].split()
        host = normal_host(words[-1][:300]) if words else ""
        if "." in host:
            hosts.add(host)
        if len(hosts) >= MOST_SPAM_HOSTS:
            break
    return frozenset(hosts)
