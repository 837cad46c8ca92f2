"""Parts of a crawl specification that contradict each other."""

from collections.abc import Iterator

from nwx.steering.rules.link_rules import LinkRules, rule_conditions
from nwx.steering.rules.surt_prefixes import SurtPrefixes, covering_hosts, normal_host, normal_surt
from nwx.steering.specifications.problems import SpecificationProblem
from nwx.steering.specifications.specification import CrawlSpecification, LinkRule, RuleAction
from nwx.steering.specifications.tables import shown_value


def contradictions(specification: CrawlSpecification) -> Iterator[SpecificationProblem]:
    """Yield rules that others make useless, and seeds that the rules forbid."""
    blacklist = _Conditions(specification.rules, RuleAction.BLACKLIST)
    only = _Conditions(specification.rules, RuleAction.ONLY)
    for number, rule in enumerate(specification.rules, 1):
        if rule.action is RuleAction.BLACKLIST:
            continue
        for name, index, text in rule_conditions(rule):
            place = f"rules[{number}].{name}[{index + 1}]"
            if cover := blacklist.covering(name, text):
                reason = f"{shown_value(text)} is of no use: {cover} blacklists it"
                yield SpecificationProblem(place, reason)
            elif rule.action is RuleAction.PREFER and only.excludes(name, text):
                reason = f"{shown_value(text)} is of no use: no rule of the action only covers it"
                yield SpecificationProblem(place, reason)
    yield from _forbidden_seeds(specification)


def _forbidden_seeds(specification: CrawlSpecification) -> Iterator[SpecificationProblem]:
    rules = LinkRules(specification.rules)
    for number, seed in enumerate(specification.seeds, 1):
        verdict = rules.verdict(seed)
        if verdict.blacklisted:
            yield SpecificationProblem(f"seeds[{number}]", f"is blacklisted: {verdict.rule}")
        elif verdict.outside:
            yield SpecificationProblem(
                f"seeds[{number}]", f"is outside of the crawl: {verdict.rule}"
            )


class _Conditions:
    """What the rules of an action cover, and where each condition is."""

    def __init__(self, rules: tuple[LinkRule, ...], action: RuleAction) -> None:
        self._places: dict[tuple[str, str], str] = {}
        for number, rule in enumerate(rules, 1):
            if rule.action is action:
                for name, index, text in rule_conditions(rule):
                    key = (name, _normal(name, text))
                    self._places.setdefault(key, f"rules[{number}].{name}[{index + 1}]")
        self._surts = SurtPrefixes(text for name, text in self._places if name == "surts")
        hosts = (_host(name, text) for name, text in self._places if name != "expressions")
        self._above = {above for host in hosts for above in covering_hosts(host)}
        self._is_exact = all(name != "expressions" for name, _ in self._places)

    def covering(self, name: str, text: str) -> str:
        """Return the place of a condition that covers all that another one covers, else ""."""
        normal = _normal(name, text)
        if (name, normal) in self._places:
            return self._places[name, normal]
        if name == "expressions":
            return ""
        surt = normal if name == "surts" else ",".join(reversed(normal.split(".")))
        for known in covering_hosts(_host("surts", surt)):
            if ("hosts", known) in self._places:
                return self._places["hosts", known]
        found = self._surts.covering(surt)
        return self._places.get(("surts", found), "")

    def excludes(self, name: str, text: str) -> bool:
        """Return whether nothing that a condition covers is covered here, where anything is."""
        if not self._places or not self._is_exact or name == "expressions":
            return False
        host = _host(name, _normal(name, text))
        return not self.covering(name, text) and host not in self._above


def _normal(name: str, text: str) -> str:
    if name == "hosts":
        return normal_host(text)
    return normal_surt(text) if name == "surts" else text


def _host(name: str, normal: str) -> str:
    """Return the host of a condition in its normal form."""
    if name == "hosts":
        return normal
    return ".".join(reversed(normal.partition(")")[0].partition(":")[0].split(",")))
