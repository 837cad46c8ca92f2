"""Office payloads: their bytes decide the format, whatever type was served."""

from nwx.extract.office import RTF_MAGIC, ZIP_MAGIC, open_formats
from nwx.extract.office.open_formats import read_openxml
from nwx.extract.office.parts import Parts
from nwx.extract.office.rtf import read_rtf
from nwx.extract.office.text import OfficeText, Stop
from nwx.extract.page import ExtractPayload
from nwx.model import Extract

_OPENXML = ("word/", "xl/", "ppt/")
_LONGEST_TYPE = 200


def extract_office(payload: ExtractPayload) -> Extract:
    """Return the extract of an office file or book; empty if the bytes are neither."""
    text = OfficeText(payload)
    try:
        if payload.data.startswith(RTF_MAGIC):
            read_rtf(text, payload)
        elif payload.data.startswith(ZIP_MAGIC):
            _read_zip(text, payload)
        else:
            return Extract()
    except Stop as stop:
        text.problems.extend(filter(None, (str(stop),)))
    return text.finish()


def _read_zip(text: OfficeText, payload: ExtractPayload) -> None:
    problems: list[str] = []
    parts = Parts(payload, problems)
    try:
        mime_type = parts.read("mimetype", _LONGEST_TYPE).strip()
        if mime_type == open_formats.MIME_TYPE or open_formats.CONTAINER in parts:
            open_formats.read_epub(parts, text, payload)
        elif mime_type.startswith(open_formats.MIME_TYPES):
            open_formats.read_opendocument(parts, text)
        elif any(name.startswith(_OPENXML) for name in parts.names):
            read_openxml(parts, text)
        else:
            problems.clear()  # any other zip file has no text to be had
    finally:
        text.problems.extend(problems)
