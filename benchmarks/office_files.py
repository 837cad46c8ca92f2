"""nwx's readers of office files compared with kreuzberg (MIT) and, for RTF, striprtf (BSD).

Each reader runs in a separate process for each format and each hostile file: start-up, the best
of several rounds, and peak memory are printed; for hostile files also whether it ended in time.
kreuzberg extracts text and metadata only; nwx also links, headings, language and signature. The
peers are not dependencies: pip install kreuzberg striprtf.

    python -m benchmarks.office_files
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.corpus import Words
from tests import office_files as made

_ODF = "application/vnd.oasis.opendocument."
_OOXML = "application/vnd.openxmlformats-officedocument."
TYPES = {
    "docx": f"{_OOXML}wordprocessingml.document",
    "xlsx": f"{_OOXML}spreadsheetml.sheet",
    "pptx": f"{_OOXML}presentationml.presentation",
    "odt": f"{_ODF}text",
    "ods": f"{_ODF}spreadsheet",
    "odp": f"{_ODF}presentation",
    "epub": "application/epub+zip",
    "rtf": "application/rtf",
}
HOSTILE_TYPES = {
    "RTF": "rtf",
    "columns": "ods",
    "spaces": "odt",
    "cells": "xlsx",
    "strings": "xlsx",
}
TIMEOUT = 30.0
TASK = "from benchmarks.office_files import child; child()"


def whole_files() -> dict[str, bytes]:
    """Return a file of each format with about 300 KB of text; deterministic."""
    source = random.Random(7)
    words = Words(20_000, source)
    lines = [" ".join(words.draw(60, source)) for _ in range(800)]
    rows = [words.draw(10, source) for _ in range(4_000)]
    slides = [(lines[n][:30], lines[n]) for n in range(200)]
    text = "".join(f"<text:p>{line}</text:p>" for line in lines)
    cells = "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in row)
        + "</table:table-row>"
        for row in rows
    )
    pages = [f"<h1>{line[:30]}</h1>" + f"<p>{line}</p>" * 10 for line in lines[:80]]
    frames = f"<draw:page><draw:frame>{text}</draw:frame></draw:page>"
    return {
        "docx": made.docx(*lines, title="A title", author="Ada"),
        "xlsx": made.xlsx(rows, title="A title"),
        "pptx": made.pptx(slides, title="A title"),
        "odt": made.opendocument("text", text, title="A title"),
        "ods": made.opendocument("spreadsheet", f"<table:table>{cells}</table:table>"),
        "odp": made.opendocument("presentation", frames),
        "epub": made.epub(*pages, title="A title"),
        "rtf": made.rtf(*lines, title="A title"),
    }


def _reader(name: str, kind: str) -> Callable[[bytes], int]:
    """Return the function that reads a file and returns the number of characters of its text."""
    if name == "kreuzberg":
        from kreuzberg import ExtractionConfig, extract_bytes_sync

        config = ExtractionConfig(use_cache=False, extraction_timeout_secs=20)
        return lambda data: len(extract_bytes_sync(data, TYPES[kind], config).content)
    if name == "striprtf":
        from striprtf.striprtf import rtf_to_text

        return lambda data: len(rtf_to_text(data.decode("latin-1")))
    from nwx.extract import extract

    return lambda data: len(extract(data, url="http://a.example/", content_type_norm=kind).content)


def _most_memory() -> int:
    """Return the peak memory of this process in KB, not counting that of a fork's parent."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def child() -> None:
    """Read the file on standard input a number of times; print the figures as JSON."""
    name, kind, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    data = sys.stdin.buffer.read()
    started = time.process_time()
    reader = _reader(name, kind if name != "nwx" else "office")
    startup, before = time.process_time() - started, _most_memory()
    best, characters, failure = float("inf"), 0, ""
    for _ in range(rounds):
        started = time.process_time()
        try:
            characters = reader(data)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
            failure = f"{type(error).__name__}: {error}"[:90]
        best = min(best, time.process_time() - started)
    memory = _most_memory()
    found = {"startup": startup, "loaded": before >> 10, "memory": memory >> 10, "seconds": best}
    print(json.dumps({**found, "characters": characters, "failure": failure}))


def measured(name: str, kind: str, data: bytes, rounds: int) -> dict[str, Any]:
    """Return the figures of a reader for a file, in a separate process that may crash."""
    command = [sys.executable, "-c", TASK, name, kind, str(rounds)]
    try:
        run = subprocess.run(command, input=data, capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return {"failure": f"not ended after {TIMEOUT:g} s"}
    if run.returncode:
        return {"failure": f"the process ended with {run.returncode}"}
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return result


def told(found: dict[str, Any]) -> str:
    """Return a cell in the table of hostile files."""
    if "seconds" not in found:
        return str(found["failure"])
    text = f"{found['characters']:,} characters" if not found["failure"] else found["failure"]
    return f"{found['seconds']:.2f} s, {found['memory'] - found['loaded']} MB; {text}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--harm", type=int, default=20_000_000, help="bytes of a hostile file")
    options = parser.parse_args()
    print("| format | peer | start-up, peer / nwx | peer | nwx | ratio | characters |")
    print("|---|---|---|---|---|---|---|")
    for kind, data in whole_files().items():
        own = measured("nwx", kind, data, options.rounds)
        for peer in ("kreuzberg", "striprtf") if kind == "rtf" else ("kreuzberg",):
            other = measured(peer, kind, data, options.rounds)
            if other["failure"]:
                print(f"| {kind} | {peer} | {other['failure']} | | {own['seconds'] * 1e3:.1f} ms |")
                continue
            print(
                f"| {kind} | {peer} | {other['startup'] * 1e3:.0f} ms, {other['loaded']} MB /"
                f" {own['startup'] * 1e3:.0f} ms, {own['loaded']} MB"
                f" | {other['seconds'] * 1e3:.1f} ms, {other['memory']} MB"
                f" | {own['seconds'] * 1e3:.1f} ms, {own['memory']} MB"
                f" | {own['seconds'] / other['seconds']:.2f}"
                f" | {other['characters']:,} / {own['characters']:,} |",
                flush=True,
            )
    print("\n| hostile file | bytes | kreuzberg | nwx |\n|---|---|---|---|")
    for name, data in made.hostile_files(options.harm).items():
        kind = next((kind for word, kind in HOSTILE_TYPES.items() if word in name), "docx")
        peer, own = (measured(each, kind, data, 1) for each in ("kreuzberg", "nwx"))
        print(f"| {name} | {len(data):,} | {told(peer)} | {told(own)} |", flush=True)


if __name__ == "__main__":
    main()
