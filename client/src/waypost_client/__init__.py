"""Client of the waypost API: short links, files and QR codes."""

from waypost_client.aio.client import AsyncWaypost
from waypost_client.errors import ApiError, WaypostError
from waypost_client.records import BulkResult, Downloaded, Page, Record
from waypost_client.retry import NO_RETRIES, Retry
from waypost_client.sync.client import Waypost
from waypost_client.version import __version__

__all__ = [
    "NO_RETRIES",
    "ApiError",
    "AsyncWaypost",
    "BulkResult",
    "Downloaded",
    "Page",
    "Record",
    "Retry",
    "Waypost",
    "WaypostError",
    "__version__",
]
