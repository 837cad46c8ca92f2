"""The fields that enrichers make of a record."""

from collections.abc import Sequence

from nwx.extract.enrichers import Exchange, enriched
from nwx.mappings import FieldValue
from nwx.values.http import to_text
from nwx.warc.reader import CaptureRecord, StoredPayload


def enriched_record(
    names: Sequence[str], record: CaptureRecord, payload: StoredPayload, content: str = ""
) -> dict[str, FieldValue]:
    """Return the fields that enrichers make of a record, and of the text of its payload."""
    exchange = Exchange(
        record.capture,
        bytes(payload.data),
        charset=payload.charset,
        head=record.head,
        ip_address=to_text(record.ip_address),
        content=content,
    )
    return enriched(names, exchange)
