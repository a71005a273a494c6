"""Imports of a large part of the program."""

import gc
from importlib import import_module
from types import ModuleType

_loaded: dict[str, ModuleType] = {}


def load(name: str) -> ModuleType:
    """Import a module and all modules that it needs.

    Garbage collection is disabled during the import, which saves a fifth of the time, and ignores the modules later:
    they live as long as the process.
    """
    if name in _loaded:  # unlike sys.modules, without those that another thread is still importing
        return _loaded[name]
    gc.disable()
    try:
        _loaded[name] = import_module(name)
    finally:
        gc.freeze()
        gc.enable()
    return _loaded[name]
