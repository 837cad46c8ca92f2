"""A crawl specification: what a crawl is about, and how pages and links are scored by it."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

_VERSION_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Keyword:
    """Words that a relevant page has; `language` is ISO 639-1, "" for any."""

    text: str
    weight: float = 1.0
    language: str = ""


class EntityKind(StrEnum):
    """What an entity is."""

    PERSON = "person"
    ORGANISATION = "organisation"
    PLACE = "place"
    EVENT = "event"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entity:
    """A named thing that a relevant page mentions, under its name or an alias.

    `identifier` is any, such as the address of its entry in Wikidata.
    """

    name: str
    aliases: tuple[str, ...] = ()
    kind: EntityKind = EntityKind.OTHER
    identifier: str = ""
    weight: float = 1.0


class RuleAction(StrEnum):
    """What becomes of a link that a rule covers.

    `blacklist`: it is never fetched. `prefer`: it is fetched earlier.
    `only`: links that no rule of this action covers are not followed.
    """

    BLACKLIST = "blacklist"
    PREFER = "prefer"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class LinkRule:
    """A rule that covers a link when an expression, a SURT prefix or a host does.

    Expressions are RE2's, searched for anywhere in the URL. A host covers
    its subdomains, and a SURT prefix without path (`org,example`) does too.
    """

    action: RuleAction
    expressions: tuple[str, ...] = ()
    surts: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a crawl goes; None is without limit. `depth` counts links from a seed."""

    depth: int | None = None
    pages: int | None = None
    pages_per_host: int | None = None


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """How much each part counts in the relevance of a link.

    `document` is the score of the page that links, `near` that of the text
    near the link, `role` what links of this role are worth, `preferred`
    whether a rule prefers the URL, `novelty` whether the URL is new.
    """

    document: float = 0.35
    near: float = 0.35
    role: float = 0.1
    preferred: float = 0.1
    novelty: float = 0.1


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which score on a page is `relevant`, and from which relevance on a link is followed.

    By default links in the text and in menus are followed, whatever is near
    them, but not those to log in, of advertisements, calendars and comments.
    """

    relevant: float = 0.1
    follow: float = 0.13


@dataclass(frozen=True, slots=True)
class DueInterval:
    """After how many days a page is due again; without SURT prefixes and hosts any page is."""

    days: float
    surts: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrawlSpecification:
    """What a crawl is about; `name` names the crawl.

    `collection` is the one whose documents are analysed, "" for all.
    `queue` is the address of the crawler's queue, "" for that of the archive.
    """

    name: str
    seeds: tuple[str, ...] = ()
    keywords: tuple[Keyword, ...] = ()
    entities: tuple[Entity, ...] = ()
    rules: tuple[LinkRule, ...] = ()
    limits: Limits = field(default_factory=Limits)
    weights: ScoreWeights = field(default_factory=ScoreWeights)
    thresholds: Thresholds = field(default_factory=Thresholds)
    intervals: tuple[DueInterval, ...] = ()
    collection: str = ""
    queue: str = ""

    def version(self) -> str:
        """Return 16 hex digits that change whenever an analysis may have other results.

        Keywords, entities, rules, weights and thresholds count, the order of
        keywords and entities does not. Takes a while where there are many.
        """
        keywords = sorted((one.text, one.weight, one.language) for one in self.keywords)
        entities = sorted(
            (one.name, sorted(one.aliases), one.kind, one.identifier, one.weight)
            for one in self.entities
        )
        content = (keywords, entities, self.rules, self.weights, self.thresholds)
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:_VERSION_DIGITS]
