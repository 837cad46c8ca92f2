"""Documents files: what was extracted from archive files elsewhere, as Parquet, and its import.

`extraction` reads an archive file, guarded, and `documents_writer` writes
what came of it; `documents_file` reads that, and `loaded_parts` makes of it
what an import of the archive file would write.
"""
