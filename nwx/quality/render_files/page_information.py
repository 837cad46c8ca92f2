"""The list of a page's resources as Browsertrix keeps it in `urn:pageinfo:` records."""

import json
from datetime import datetime
from typing import Any
from uuid import uuid4

from nwx.model import Comparison
from nwx.quality.browser.page_render import PageRender


def pageinfo_json(
    render: PageRender, instant: datetime, comparison: Comparison | None = None
) -> bytes:
    """Return the page information of a render; `instant` is the time of the page."""
    found: dict[str, Any] = {
        "pageid": str(uuid4()),
        "urls": {
            each.url: {"status": each.status, "mime": each.mime, "type": each.type}
            for each in render.resources
        },
        "url": render.task.url,
        "counts": {"jsErrors": render.js_errors},
        "tsStatus": render.status or 999,
        "ts": iso_date(instant),
    }
    if comparison is not None:
        found["comparison"] = _comparison(comparison)
    return json.dumps(found, indent=2, ensure_ascii=False).encode("utf-8", "replace")


def _comparison(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison under Browsertrix's names; what could not be compared is left out."""
    counts = {
        "crawlGood": comparison.crawl_good,
        "crawlBad": comparison.crawl_bad,
        "replayGood": comparison.replay_good,
        "replayBad": comparison.replay_bad,
    }
    matches = {"screenshotMatch": comparison.screenshot, "textMatch": comparison.text}
    return {
        **{name: value for name, value in matches.items() if value is not None},
        "resourceCounts": {name: count for name, count in counts.items() if count is not None},
    }


def iso_date(instant: datetime) -> str:
    """Return an instant as Browsertrix writes dates, with milliseconds."""
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z"
