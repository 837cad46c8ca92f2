"""Office files and books: docx, xlsx, pptx, odt, ods, odp, epub and rtf."""

ZIP_MAGIC = b"PK\x03\x04"
RTF_MAGIC = b"{\\rtf"
OFFICE_MAGICS = (ZIP_MAGIC, RTF_MAGIC)
"""The first bytes of all payloads that `extract_office` reads."""
