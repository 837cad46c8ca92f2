"""Importing it ends PYTHONSAFEPATH, by which a fork server started: users' own commands that forked
processes run find modules beside them, as everywhere.
"""

import os

os.environ.pop("PYTHONSAFEPATH", None)
