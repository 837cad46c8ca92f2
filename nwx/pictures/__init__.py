"""Pictures of an archive: what pages say of them, their measures, and the index of both."""
