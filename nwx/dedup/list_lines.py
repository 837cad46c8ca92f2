"""Lines of exclusion lists, written for many captures at once."""

import numpy as np

from nwx.cdx.columns import Bytes, CdxColumns, Integers, Mask, load_columns

_FEW = 16
_WIDE = 320
_BLANK, _NEWLINE = 32, 10


def list_lines(columns: CdxColumns) -> bytes:
    """Return a line `date digest url` for each line, values as they are written there."""
    fields = [(columns.starts(letter), columns.lengths(letter)) for letter in ("b", "kc", "a")]
    if len(columns) < _FEW or sum(int(lengths.max()) for _, lengths in fields) > _WIDE:
        texts = (columns.texts("b"), columns.texts("kc"), columns.texts("a"))
        return b"".join([b"%b %b %b\n" % each for each in zip(*texts, strict=True)])
    parts = [
        _ended(columns.data, starts, lengths, end)
        for (starts, lengths), end in zip(fields, (_BLANK, _BLANK, _NEWLINE), strict=True)
    ]
    content = np.concatenate([part for part, _ in parts], axis=1)
    wanted = np.concatenate([mask for _, mask in parts], axis=1)
    return bytes(content[wanted])


def _ended(data: bytes, starts: Integers, lengths: Integers, end: int) -> tuple[Bytes, Mask]:
    """Return fields with `end` behind each, a row each, and which of these bytes are theirs."""
    width = int(lengths.max()) + 1
    content = load_columns(data, starts, width)
    content[np.arange(len(lengths)), lengths] = end
    wanted = np.arange(width, dtype=np.uint16) <= lengths.astype(np.uint16)[:, None]
    return content, wanted
