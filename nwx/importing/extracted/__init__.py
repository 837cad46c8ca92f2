"""Documents files: Parquet files extracted from archive files elsewhere, and their import.

`extraction` reads an archive file in a guarded process; `documents_file` writes and reads the
result, and `loaded_parts` converts it to the parts that an import of the archive file would write.
"""
