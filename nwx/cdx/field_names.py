"""The fields of a capture by all the names that formats and clients know them by."""

CDX_FIELDS = (
    "urlkey",
    "timestamp",
    "url",
    "mime",
    "status",
    "digest",
    "redirect",
    "robotflags",
    "length",
    "offset",
    "filename",
)
"""The fields of a CDX line of eleven, in its order: those of a `CdxRow` before its collection."""

URL, MIME, STATUS, DIGEST, FILENAME = (
    CDX_FIELDS.index(name) for name in ("url", "mime", "status", "digest", "filename")
)

LETTERS = ("NA", "b", "a", "m", "s", "kc", "r", "M", "S", "Vv", "g")
"""The letters of each field in the headers of CDX files, the usual one first."""

CDXJ_PLACES = {name: place for place, name in enumerate(CDX_FIELDS) if place >= URL}
"""Where the values of CDXJ that are fields of every row stand in one."""

CDXJ_PLACES_ORS = {"original_uri": URL, "mime_type": MIME, "status_code": STATUS}
"""The same by the names of ipwb and other writers of the ORS dialect."""

ORIGINAL_FIELDS = ("orig.length", "orig.offset", "orig.filename")
"""What CDXJ calls OutbackCDX's last three of 14 fields: the record that a revisit refers to."""

FIELD_PLACES = {
    **{name: place for place, name in enumerate(CDX_FIELDS)},
    "original": URL,
    "mimetype": MIME,
    "statuscode": STATUS,
    "redirecturl": CDX_FIELDS.index("redirect"),
    "collection": len(CDX_FIELDS),
}
"""The names by which clients ask for fields, and where these stand in a row."""

EXTRA_FIELDS = {
    **{name: name for name in ORIGINAL_FIELDS},
    "originalLength": "orig.length",
    "originalOffset": "orig.offset",
    "originalFilename": "orig.filename",
    "method": "method",
    "requestBody": "requestBody",
}
"""The names of fields that few captures have, and what CDXJ calls them."""
