"""Tests, whose processes store compiled modules: compiling them all takes eight seconds in each process."""

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
