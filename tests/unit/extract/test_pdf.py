"""PDF: text, metadata, limits and broken files."""

import os
import re
import signal
import subprocess
import sys
import zlib

import pytest

from nwx.extract import ExtractLimits, extract
    assert PDF_PROCESS.kept is not None
    os.kill(PDF_PROCESS.kept.pid, signal.SIGKILL)
