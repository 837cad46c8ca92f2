"""What programs can ask of pictures, and the answers."""

from nwx.engine.indices.picture_index import COLOURS, ImageSize
from nwx.pictures.answers import PicturesAnswer, ShownPictureAnswer, SimilarPicturesAnswer
from webapp.site.openapi import COUNT, ERRORS, NOT_FOUND, TEXT, Operation, Parameter

MOST_PICTURES_ANSWERED = 1_000

_TEXTS = {"type": "array", "items": TEXT}
_LIMIT = {**COUNT, "maximum": MOST_PICTURES_ANSWERED, "default": 50}

PICTURE_PARAMETERS = (
    Parameter("q", "words about the picture; all must stand on one page that shows it"),
    Parameter("size", "how large it is, by the longer side", {"enum": list(ImageSize)}),
    Parameter(
        "colour",
        "a main colour; may be repeated",
        {"type": "array", "items": {"enum": list(COLOURS)}},
    ),
    Parameter("host", "images of one of these hosts; may be repeated", _TEXTS),
    Parameter("domain", "images of one of these domains; may be repeated", _TEXTS),
    Parameter("collection", "measured in one of these collections; may be repeated", _TEXTS),
    Parameter("year", "measured at a capture of one of these years; may be repeated", _TEXTS),
    Parameter("offset", "the pictures to skip", {**COUNT, "default": 0}),
    Parameter("limit", "the pictures to return", _LIMIT),
)
SIMILAR_PARAMETERS = (
    Parameter("hash", "the perceptual hash of an image, 16 hex digits"),
    Parameter("limit", "the pictures to return", _LIMIT),
)

PICTURE_OPERATIONS = (
    Operation(
        "pictures",
        "/api/pictures",
        "Pictures by what pages say of them, by size and colour",
        PICTURE_PARAMETERS,
        PicturesAnswer,
        example="/api/pictures?q=logo&limit=3",
    ),
    Operation(
        "picture",
        "/api/pictures/{document_id}",
        "A picture, and pages that show it",
        (
            Parameter(
                "document_id",
                "the id of the picture's document",
                {"type": "string", "pattern": "^[0-9a-f]{32}$"},
                place="path",
            ),
        ),
        ShownPictureAnswer,
        errors={**ERRORS, **NOT_FOUND},
    ),
    Operation(
        "similarPictures",
        "/api/pictures/similar",
        "Pictures that look like an image, by its hash",
        SIMILAR_PARAMETERS,
        SimilarPicturesAnswer,
    ),
    Operation(
        "picturesLikeImage",
        "/api/pictures/similar",
        "Pictures that look like the image in the body of the request, of at most 8 MB",
        (Parameter("limit", "the pictures to return", _LIMIT),),
        SimilarPicturesAnswer,
        errors={**ERRORS, "413": "the image is too long"},
        method="post",
    ),
)
