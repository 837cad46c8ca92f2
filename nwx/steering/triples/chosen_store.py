"""The store of an archive, as the settings have it."""

from pathlib import Path

from nwx.errors import SettingsError
from nwx.settings import Settings
from nwx.steering.triples.triple_store import TripleStore

_FOLDER = "triples"


def triple_store(settings: Settings) -> TripleStore:
    """Return the store that is set, else that in the folder of the archive.

    Raises SettingsError for an archive on Elasticsearch without a setting.
    """
    place = settings.triples or _beside_archive(settings)
    if place.startswith(("http://", "https://")):
        # Imported here: most archives have their store in a folder.
        from nwx.steering.triples.remote_store import RemoteTripleStore

        return RemoteTripleStore(place, settings.triples_query or place)
    from nwx.steering.triples.local_store import LocalTripleStore

    return LocalTripleStore(Path(place))


def _beside_archive(settings: Settings) -> str:
    if settings.engine.startswith(("http://", "https://")):
        raise SettingsError(
            "an archive on Elasticsearch has no folder for triples; set NWX_TRIPLES to a folder, or"
            " to the address of a SPARQL 1.1 server's updates"
        )
    return str(Path(settings.engine) / _FOLDER)
