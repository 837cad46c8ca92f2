"""Pictures of an archive: their measures, the texts of pages about them, and the index of both."""
