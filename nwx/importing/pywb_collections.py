"""The collections of a pywb service, read from its folder and `config.yaml`.

The layout is that of `wb-manager`: `collections/NAME/{archive,indexes,acl}`
(https://pywb.readthedocs.io/en/latest/manual/configuring.html).
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nwx.errors import SourceError, UsageError, system_reason
from nwx.keys import check_collection

_CONFIG = "config.yaml"
_SHOWN = ("", "allow", "allow_ignore_embargo")
_UNREAD = ("sequence", "index_group")


@dataclass(frozen=True, slots=True)
class PywbCollection:
    """A pywb collection: its archive files, its rules, and the settings that nwx cannot take over.

    `action` is the access action of its `default_access`, "" for none; `years` is the length of its
    embargo, 0 for none.
    """

    name: str
    archives: tuple[Path, ...] = ()
    rules: tuple[Path, ...] = ()
    action: str = ""
    years: int = 0
    left: tuple[str, ...] = ()


def pywb_collections(folder: Path) -> list[PywbCollection]:
    """Return the collections of a folder that pywb serves, sorted by name.

    Raises SourceError if there are none, UsageError if `config.yaml` cannot be read.
    """
    config = _config(folder / _CONFIG)
    root = folder / str(config.get("collections_root", "collections"))
    found = {one.name: one for one in _in_folders(root, config)}
    named = config.get("collections") or {}
    if not isinstance(named, Mapping):
        raise UsageError(f"{folder / _CONFIG}: `collections` has to map names to collections")
    for name, one in named.items():
        if one != "$all":
            settings = one if isinstance(one, Mapping) else {"index": one}
            found[str(name)] = _in_config(folder, str(name), config, settings)
    if not found:
        raise SourceError(f"there are no collections of pywb in {folder}; it needs {root.name}/")
    return [_checked(found[name]) for name in sorted(found)]


def _checked(one: PywbCollection) -> PywbCollection:
    """Return a collection, without contents if nwx does not allow its name."""
    try:
        check_collection(one.name)
    except UsageError as error:
        return PywbCollection(one.name, left=(str(error),))
    return one


def _config(path: Path) -> Mapping[str, Any]:
    import msgspec.yaml

    try:
        found = msgspec.yaml.decode(os.path.expandvars(path.read_text())) or {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read: {str(system_reason(error))[:500]}") from error
    if not isinstance(found, Mapping):
        raise UsageError(f"{path} has no settings of pywb")
    return found


def _in_folders(root: Path, config: Mapping[str, Any]) -> Iterator[PywbCollection]:
    archive, acl = (str(config.get(f"{name}_paths", name)) for name in ("archive", "acl"))
    for one in sorted(root.iterdir()) if root.is_dir() else ():
        if (one / archive).is_dir() or (one / acl).is_dir():
            action, left = _access(config)
            rules = tuple(sorted((one / acl).glob("*.aclj")))
            archives = tuple(path for path in (one / archive,) if path.is_dir())
            yield PywbCollection(one.name, archives, rules, action, left=left)


def _in_config(
    folder: Path, name: str, config: Mapping[str, Any], one: Mapping[str, Any]
) -> PywbCollection:
    """Return a collection from its settings in `config.yaml`."""
    archives, left = [], [f"{key}: not read" for key in _UNREAD if key in one]
    for text in _texts(one.get("archive_paths")):
        place = folder / text
        if "://" not in text and place.exists():
            archives.append(place)
        else:
            left.append(f"archive_paths {text}: not a folder or file on this machine")
    index = one.get("index") or one.get("index_paths")
    if index and not archives:
        left.append(f"index {index}: captures without archive files; nwx cdx-load takes CDX files")
    paths = [folder / text for text in _texts(one.get("acl_paths"))]
    rules = [file for path in paths for file in (path.glob("*.aclj") if path.is_dir() else (path,))]
    action, unread = _access({**config, **one})
    years, more = _embargo(one.get("embargo"))
    return PywbCollection(
        name, tuple(archives), tuple(sorted(rules)), action, years, (*left, *unread, *more)
    )


def _access(settings: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the action of `default_access`, and the settings that are not supported."""
    access = str(settings.get("default_access") or "")
    if access in _SHOWN:
        return "", ()
    known = access in ("block", "exclude")
    return (access, ()) if known else ("", (f"default_access {access}: not known",))


def _embargo(found: Any) -> tuple[int, tuple[str, ...]]:
    """Return the years of an embargo, and the settings that are not supported."""
    if not found:
        return 0, ()
    newer = found.get("newer") if isinstance(found, Mapping) else None
    years = newer.get("years") if isinstance(newer, Mapping) and len(newer) == 1 else None
    if isinstance(years, int) and years > 0 and len(found) == 1:
        return years, ()
    return 0, (f"embargo {found}: add it with nwx access add embargo",)


def _texts(found: Any) -> list[str]:
    """Return one text or a list of them as a list."""
    return [str(one) for one in found] if isinstance(found, list) else [str(found)] if found else []
