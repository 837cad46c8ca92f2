"""For any CDX input, the duplicates equal those of a short Python function."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nwx.bulk import arrays
from nwx.cdx import blocks, inputs
from nwx.cdx.inputs import CdxSource
from nwx.dedup import duplicates, tasks
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.duplicates import find_duplicates
from nwx.dedup.policies import Keep, Key

DIGESTS = ("A" * 32, "sha1:" + "A" * 32, "B" * 32, "sha256:" + "0" * 64, "odd", "-")
HOSTS = ("a.org", "b.org", "b.org/" + "x" * 70)
DATES = ("2014", "201402", "20140228010203", "20140301000000", "20200229235959")

capture = st.tuples(
    st.sampled_from(HOSTS),
    st.sampled_from(DATES),
    st.sampled_from(DIGESTS),
    st.sampled_from(("text/html", "warc/revisit")),
    st.integers(0, 3),
)
Capture = tuple[str, str, str, str, int]


def _cdx11(each: Capture) -> str:
    host, date, digest, mime, size = each
    return f"{host}) {date} http://{host} {mime} 200 {digest} - - {size} 5 f"


def _cdx9(each: Capture) -> str:
    host, date, digest, mime, _ = each
    file = "-" if mime == "warc/revisit" else "f"  # as written by NutchWAX
    return f"{host}) {date} http://{host} text/html 200 {digest} - 5 {file}"


def _cdxj(each: Capture) -> str:
    host, date, digest, mime, size = each
    return (
        f'{host}) {date} {{"url": "http://{host}", "mime": "{mime}", "digest": "{digest}",'
        f' "length": "{size}"}}'
    )


FORMS: tuple[Callable[[Capture], str], ...] = (_cdx11, _cdx9, _cdxj)


def _expected(captures: list[Capture], key: Key, keep: Keep) -> list[str]:
    best: dict[tuple[str, ...], tuple[tuple[object, ...], int]] = {}
    keys = []
    for place, (host, date, digest, mime, size) in enumerate(captures):
        value = digest.removeprefix("sha1:")
        name = (value,) if key is Key.DIGEST else (host, value)
        keys.append(name if digest != "-" else None)
        when = int(date + "00000101000000"[len(date) :])
        rank: tuple[object, ...] = {
            Keep.OLDEST: (when,),
            Keep.NEWEST: (-when,),
            Keep.LARGEST: (-size, when),
            Keep.ORIGINAL: (mime == "warc/revisit", when),
        }[keep]
        if name not in best or (rank, place) < best[name]:
            best[name] = (rank, place)
    return [
        f"{captures[place][1]} {captures[place][2]} http://{captures[place][0]}"
        for place, name in enumerate(keys)
        if name is not None and _named(captures[place]) != _named(captures[best[name][1]])
    ]


def _named(each: Capture) -> tuple[str, str]:
    """Return the fields of a list's line for a capture, except its digest."""
    host, date, *_ = each
    return host, date + "00000101000000"[len(date) :]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    captures=st.lists(capture, max_size=60),
    in_order=st.sampled_from((True, True, False)),
    forms=st.lists(st.sampled_from(FORMS), min_size=1, max_size=3),
    files=st.integers(1, 3),
    packed=st.booleans(),
    key=st.sampled_from(list(Key)),
    keep=st.sampled_from(list(Keep)),
    block_bytes=st.sampled_from((100, 500, 1 << 20)),
    task_bytes=st.sampled_from((150, 700, 1 << 20)),
    at_once=st.sampled_from((1, 5, 1 << 18)),
    longest_run=st.sampled_from((400, 1 << 20)),
    by_runs=st.booleans(),
)
def test_duplicates_are_those_of_a_dictionary(
    captures: list[Capture],
    in_order: bool,
    forms: list[Callable[[Capture], str]],
    files: int,
    packed: bool,
    key: Key,
    keep: Keep,
    block_bytes: int,
    task_bytes: int,
    at_once: int,
    longest_run: int,
    by_runs: bool,
) -> None:
    if in_order:
        captures = sorted(captures)
    if keep is Keep.LARGEST:
        forms = [form for form in forms if form is not _cdx9] or [_cdx11]
    lines = [forms[place % len(forms)](each) + "\n" for place, each in enumerate(captures)]
    size = -(-len(lines) // files) or 1
    with (
        TemporaryDirectory() as folder,
        patch.object(blocks, "_BLOCK_BYTES", block_bytes),
        patch.object(inputs, "_LEAST_TASK_BYTES", task_bytes),
        patch.object(inputs, "_TASK_BYTES", task_bytes),
        patch.object(tasks, "ENTRIES_AT_ONCE", at_once),
        patch.object(arrays, "ENTRIES_AT_ONCE", at_once),
        patch.object(blocks, "LONGEST_RUN_BYTES", longest_run),
        patch.object(duplicates, "seem_in_order", lambda _, key: by_runs and key is not Key.DIGEST),
    ):
        sources = []
        for number in range(files):
            content = "".join(lines[number * size : (number + 1) * size]).encode()
            path = Path(folder) / str(number)
            path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
            sources.append(CdxSource(str(path)))
        output = io.BytesIO()
        report = find_duplicates(sources, output, CaptureFilter(key=key, keep=keep))
    assert output.getvalue().decode().splitlines() == _expected(captures, key, keep)
    assert report.lines == len(captures)
    assert report.problems_total == 0
