"""Captures of which nothing can be shown: revisits without an original, answers without content."""

import json
from typing import Any

from pywb.utils.wbexception import WbException
from pywb.warcserver.resource.resolvingloader import ResolvingLoader
from warcio.recordloader import ArchiveLoadFailed

_REASON = "reason"


class UnplayableError(WbException):  # type: ignore[misc]
    """A capture that cannot be shown; templates tell why by the values of the reason."""

    status_code = 404

    def __init__(self, url: str, **reason: Any) -> None:
        super().__init__({_REASON: reason}, url)


def reason_of(message: Any) -> dict[str, Any] | None:
    """Return the reason of an error of playback, or of one that pywb passes on as JSON."""
    if not isinstance(message, dict):
        return None
    if "error" in message:
        try:
            message = json.loads(message["error"])["message"]
        except (ValueError, TypeError, KeyError):
            return None
    return message.get(_REASON) if isinstance(message, dict) else None


class OriginalLoader(ResolvingLoader):  # type: ignore[misc]
    """pywb's loader of records, which names the original that a revisit lacks."""

    def _resolve_path_load(self, *given: Any) -> Any:
        record = super()._resolve_path_load(*given)
        headers = record.http_headers
        if record.rec_type == "revisit" and headers and headers.get_statuscode() == "304":
            # "Not modified" was told the crawler; readers get what was not, head and all.
            headers.headers, headers.statusline = [], ""
        return record

    def _load_different_url_payload(
        self, cdx: Any, headers_record: Any, failed_files: list[str], cdx_loader: Any
    ) -> Any:
        try:
            return super()._load_different_url_payload(
                cdx, headers_record, failed_files, cdx_loader
            )
        except ArchiveLoadFailed as error:
            if failed_files:  # there is one, in a file that cannot be read
                raise
            head = headers_record.rec_headers
            original = {
                "url": head.get_header("WARC-Refers-To-Target-URI") or cdx["url"],
                "date": head.get_header("WARC-Refers-To-Date") or "",
                "digest": head.get_header("WARC-Payload-Digest") or "",
            }
            raise UnplayableError(cdx["url"], original=original) from error
