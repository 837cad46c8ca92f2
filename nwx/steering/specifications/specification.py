"""Crawl specification: the topic of a crawl, and how pages and links are scored."""

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
    """The kind of an entity."""

    PERSON = "person"
    ORGANISATION = "organisation"
    PLACE = "place"
    EVENT = "event"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entity:
    """A named entity that a relevant page mentions under its name or an alias.

    `identifier` is any text, such as the address of its entry in Wikidata.
    """

    name: str
    aliases: tuple[str, ...] = ()
    kind: EntityKind = EntityKind.OTHER
    identifier: str = ""
    weight: float = 1.0


class RuleAction(StrEnum):
    """What a rule does with the links it covers.

    `blacklist`: never fetched. `prefer`: fetched earlier. `only`: links that no rule of this action
    covers are not followed.
    """

    BLACKLIST = "blacklist"
    PREFER = "prefer"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class LinkRule:
    """A rule that covers a link if an expression, a SURT prefix or a host matches.

    Expressions use RE2 syntax and match anywhere in the URL. A host covers its subdomains, and so
    does a SURT prefix without path (`org,example`).
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
    """Weights of the parts of a link's relevance.

    `document` is the score of the linking page, `near` the score of the text near the link, `role`
    the value of the link's role, `preferred` whether a rule prefers the URL, `novelty` whether the
    URL is new.
    """

    document: float = 0.35
    near: float = 0.35
    role: float = 0.1
    preferred: float = 0.1
    novelty: float = 0.1


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Minimum score of a `relevant` page and minimum relevance of a followed link.

    By default links in the text and in menus are followed, whatever text is near them, but not
    links to log in, of advertisements, calendars and comments.
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

    `collection` is the collection whose documents are analysed, "" for all. `queue` is the address
    of the crawler's queue, "" for the archive's queue.
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

        Keywords, entities, rules, weights and thresholds count; the order of keywords and entities
        does not. Slow for long specifications.
        """
        keywords = sorted((one.text, one.weight, one.language) for one in self.keywords)
        entities = sorted(
            (one.name, sorted(one.aliases), one.kind, one.identifier, one.weight)
            for one in self.entities
        )
        content = (keywords, entities, self.rules, self.weights, self.thresholds)
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:_VERSION_DIGITS]
