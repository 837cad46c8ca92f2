"""Title, author, description and language, in the words of Dublin Core that all formats use."""

from nwx.extract.office.parts import Parts
from nwx.extract.office.text import Metadata
from nwx.extract.office.xml import FieldReader, read_xml

_INITIAL_CREATOR = "initial-creator"  # of OpenDocument, where `creator` is who edited last


def office_metadata(parts: Parts, name: str) -> Metadata:
    """Return what a part says of the file."""
    names = ("title", "creator", "description", "language", _INITIAL_CREATOR)
    reader = FieldReader(names)
    read_xml(parts, name, reader)
    found = reader.found
    return Metadata(
        title=found.get("title", ""),
        author=found.get(_INITIAL_CREATOR) or found.get("creator", ""),
        description=found.get("description", ""),
        language=found.get("language", ""),
    )
