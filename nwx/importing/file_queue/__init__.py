"""The files of an import that are still to be read, alone or shared with other importers."""
