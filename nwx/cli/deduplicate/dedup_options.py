"""The options by which captures are compared, and what is held already."""

from typing import TYPE_CHECKING

from nwx.cli import option
from nwx.cli.deduplicate.list_options import SIZE
from nwx.dedup.policies import Keep, Key, Revisits

if TYPE_CHECKING:
    from nwx.dedup.capture_filter import CaptureFilter


SELECTION_OPTIONS = ("key", "keep", "revisits", "min_size", "mime", "not_mime")
"""The names of the options that `selection_of` takes."""

selected_records = option.option_set(
    option.value(
        "--min-size",
        SIZE,
        None,
        "Only records of at least this length.",
        default=0,
        show_default=False,
    ),
    option.repeated("--mime", "TYPE", "Only these MIME types (`image/*`)."),
    option.repeated("--not-mime", "TYPE", "Leave out these MIME types."),
)
dedup_options = option.option_set(
    option.choice_of(
        "--key",
        Key,
        "What duplicates have in common.",
        default=Key.URL_DIGEST,
    ),
    option.choice_of(
        "--keep",
        Keep,
        "Which capture of a key is not listed; `original`: the oldest that is not a revisit.",
        default=Keep.OLDEST,
    ),
    option.choice_of(
        "--revisits",
        (Revisits.IN, Revisits.OUT),
        "Include revisit records, or leave them out.",
        default=Revisits.IN,
    ),
    selected_records,
    option.repeated(
        "--against",
        "PLACE",
        help="List also what is held already: by a CDX file, a list, or an archive"
        " (a folder, or the address of a search server).",
    ),
)


def selection_of(
    *,
    min_size: int,
    mime: tuple[str, ...],
    not_mime: tuple[str, ...],
    key: str = Key.URL_DIGEST,
    keep: str = Keep.OLDEST,
    revisits: str = Revisits.IN,
) -> "CaptureFilter":
    """Return what the options of `dedup_options` or `selected_records` ask for."""
    from nwx.dedup.capture_filter import CaptureFilter

    return CaptureFilter(
        key=Key(key),
        keep=Keep(keep),
        min_bytes=min_size,
        mime_in=tuple(pattern.lower() for pattern in mime),
        mime_out=tuple(pattern.lower() for pattern in not_mime),
        revisits=Revisits(revisits),
    )
