"""The index watches: sites and URLs whose changes are reported, and what was reported of each."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields

from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.indices.entry_store import EntryIndex
from nwx.errors import UsageError
from nwx.model import IndexName
from nwx.searching.page_changes import SiteChange, site_changes

MOST_WATCHED = 1_000
_MOST_ADDRESS = 2_000


@dataclass(frozen=True, slots=True)
class WatchedSite:
    """A site, URL or beginning of URLs whose changes are reported.

    `webhook` gets them as JSON. `told` is the timestamp of the last change that was reported.
    """

    site: str
    webhook: str = ""
    by: str = ""
    told: str = ""


_NAMES = tuple(field.name for field in fields(WatchedSite))


class WatchIndex(EntryIndex):
    """The index watches of an engine; writes are visible at once."""

    def sites(self) -> list[WatchedSite]:
        """Return the watched sites by name."""
        found = (
            WatchedSite(**{name: entry.get(name, "") for name in _NAMES})
            for entry in self._store.find()
        )
        return sorted(found, key=lambda one: one.site)

    def put(self, watched: WatchedSite) -> None:
        """Store a watched site, in the place of an earlier one of its name."""
        if watched.site not in (one.site for one in self.sites()) and (
            self._store.count() >= MOST_WATCHED
        ):
            raise UsageError.translated("at most %(most)s sites are watched", most=MOST_WATCHED)
        values = {name: clean_text(text) for name, text in asdict(watched).items() if text}
        self._store.put([{"id": _id(watched.site), "url": _url(watched.site), **values}])

    def remove(self, site: str) -> bool:
        """Remove a watched site; return whether there was one."""
        return self._store.is_made() and bool(self._store.delete([_id(site)]))

    def set_told(self, site: str, told: str) -> None:
        """Note the last change of a site that was reported, if it is still watched."""

        def change(known: Mapping[str, IndexEntry | None]) -> Mapping[str, IndexEntry | None]:
            return {id: entry | {"told": told} for id, entry in known.items() if entry}

        self._store.update([_id(site)], change)


def new_watch(engine: Engine, site: str, webhook: str, by: str) -> WatchedSite:
    """Return a site to watch, whose changes until now count as reported.

    Raises UsageError for what is no site, and a webhook that is no address.
    """
    site = site.strip()
    if max(len(site), len(webhook)) > _MOST_ADDRESS:
        raise UsageError.translated("the address has over %(most)s characters", most=_MOST_ADDRESS)
    if webhook and not webhook.startswith(("http://", "https://")):
        raise UsageError.translated("a webhook is an http:// or https:// address")
    found = site_changes(engine, site, latest=True).pages
    return WatchedSite(site, webhook, by, newest_change(found))


def newest_change(changes: Iterable[SiteChange]) -> str:
    """Return the timestamp of the newest change, "" without any."""
    return max((one.after for one in changes), default="")


def watch_index(engine: Engine) -> WatchIndex:
    """Return the sites that are watched."""
    return WatchIndex(engine.entry_store(IndexName.WATCHES))


def _url(site: str) -> str:
    """Return a URL of a site, by which access rules hide it; a urlkey stays one."""
    text = site.removeprefix("*.").rstrip("*")
    return text if "://" in text or "," in text else f"http://{text}"


def _id(site: str) -> str:
    return hashlib.sha256(site.encode("utf-8", "replace")).hexdigest()[:32]
