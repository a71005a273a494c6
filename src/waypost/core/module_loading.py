"""Imports of a large part of the program."""

import gc
import sys
from importlib import import_module
from types import ModuleType


def load(name: str) -> ModuleType:
    """Import a module and all modules that it needs.

    Garbage collection is disabled during the import, which saves a fifth of the time, and ignores the modules later:
    they live as long as the process.
    """
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()
