"""What a process does for the index pictures: it measures images, and reads pages."""

from dataclasses import dataclass

from nwx.errors import FormatError, SourceError
from nwx.model import Capture
from nwx.pictures.page_images import PAGE_LIMITS, ImagesOfPage, images_of_page
from nwx.pictures.stored_payloads import payload_at
from nwx.quality.stored_blocks import MOST_IMAGE_BYTES


@dataclass(frozen=True, slots=True)
class MeasuredImage:
    """What was measured of an image, and its bytes."""

    width: int
    height: int
    hash: int | None
    colours: tuple[str, ...]
    content_length: int


ReadAnswer = MeasuredImage | ImagesOfPage | str
"""An image, a page, or in words why a capture cannot be read."""


def read_capture(path: str, capture: Capture, is_page: bool) -> ReadAnswer:
    """Return what a capture of an image or a page holds; its file lies at a path."""
    # Imported here: who only reads pages need not load Pillow.
    from nwx.pictures.measures import measured

    try:
        if is_page:
            page = payload_at(path, capture, PAGE_LIMITS.bytes)
            return images_of_page(page.data, capture.url, capture.content_type, page.charset)
        image = payload_at(path, capture, MOST_IMAGE_BYTES).data
        return MeasuredImage(*measured(image), len(image))
    except (FormatError, SourceError) as error:
        return str(error)
