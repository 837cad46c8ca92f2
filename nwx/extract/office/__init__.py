"""Office files and books: docx, xlsx, pptx, odt, ods, odp, epub and rtf."""
