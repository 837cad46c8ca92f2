"""The kinds of resources that checks of playback missed, in the words for links."""

from collections.abc import Mapping

from nwx.engine.quality.quality_index import Fault
from nwx.values import links, media_types

_OF_FAMILY: Mapping[str, str] = {
    media_types.IMAGE: links.IMG,
    media_types.SCRIPT: links.SCRIPT,
    media_types.STYLE: links.STYLESHEET,
    media_types.AUDIO: links.MEDIA,
    media_types.VIDEO: links.MEDIA,
    media_types.FLASH: links.MEDIA,
    media_types.HTML: links.FRAME,
}
_FONTS = (".woff", ".woff2", ".ttf", ".otf", ".eot")


def kind_of_resource(fault: Fault) -> str:
    """Return the kind of the resource of a fault by the ending of its URL, "" where that is open.

    A font is loaded by a style sheet: its kind is `css`.
    """
    path = fault.resource.partition("?")[0].partition("#")[0].lower()
    if path.endswith(_FONTS):
        return links.CSS
    return _OF_FAMILY.get(media_types.normal_type("", fault.resource), "")
