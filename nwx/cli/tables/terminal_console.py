"""Where tables are drawn, and the cells that must not be folded."""

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from nwx.cli.output import clean

_LEAST_CELLS = 24


def console(*, err: bool = False) -> Console:
    """Return where tables and bars are drawn; wide and without colours in a pipe or a file."""
    shown = Console(stderr=err, highlight=False, soft_wrap=False)
    if not shown.is_terminal and "COLUMNS" not in shown._environ:
        return Console(stderr=err, highlight=False, width=120)
    return shown


def shortened(text: str, width: int) -> str:
    """Return text of at most `width` terminal cells, with "…" in place of its middle."""
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, width // 2).rstrip()
    tail = text[-max(1, width - cell_len(head) - 1) :]
    while cell_len(head) + 1 + cell_len(tail) > width and tail:
        tail = tail[1:]
    return f"{head}…{tail}"


class OneLine:
    """A URL or a file name in a table: on a terminal shortened in the middle, elsewhere whole."""

    def __init__(self, text: str, style: str = "") -> None:
        self._text = clean(text)
        self._style = style

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = cell_len(self._text)
        return Measurement(min(width, _LEAST_CELLS), width).clamp(0, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = not console.is_terminal
        text = self._text if whole else shortened(self._text, options.max_width)
        yield Text(text, style=self._style, overflow="fold")
