"""The version of this package."""

from importlib.metadata import version

__version__ = version("waypost-client")
USER_AGENT = f"waypost-client/{__version__}"
