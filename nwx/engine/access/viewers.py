"""Which rules name a viewer, by network address or by user."""

import ipaddress
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from nwx.engine.access.rules import AccessRule, Viewer

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_ADDRESSES_KEPT = 4_096


class ViewerClasses:
    """Groups viewers named by the same rules into classes, identified by rule numbers."""

    def __init__(self, rules: Sequence[AccessRule]) -> None:
        users, networks = defaultdict(set), defaultdict(set)
        for number, rule in enumerate(rules):
            for user in rule.users:
                users[user].add(number)
            for text in rule.addresses:
                networks[ipaddress.ip_network(text)].add(number)
        self._users: dict[str, set[int]] = dict(users)
        self._networks: list[tuple[_Network, set[int]]] = list(networks.items())
        self._at = lru_cache(_ADDRESSES_KEPT)(self._rules_at)

    def named(self, viewer: Viewer) -> frozenset[int]:
        """Return the numbers of the rules that name a viewer."""
        by_address = self._at(viewer.address) if self._networks else frozenset[int]()
        by_user = self._users.get(viewer.user) if viewer.user else None
        return by_address | by_user if by_user else by_address

    def _rules_at(self, text: str) -> frozenset[int]:
        try:
            # An address may have the name of an interface behind it: fe80::1%eth0.
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            return frozenset()
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        found = (numbers for network, numbers in self._networks if address in network)
        return frozenset().union(*found)
