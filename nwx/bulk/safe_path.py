"""Importing this module removes PYTHONSAFEPATH, with which the fork server was started.

Users' commands run by forked processes then find modules next to them, as usual.
"""

import os

os.environ.pop("PYTHONSAFEPATH", None)
