"""Remove the parts of multipart uploads whose process was killed.

obstore cannot list them, so these two requests are signed here: Signature Version 4 of AWS, in headers.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree as ET

import httpx2
import structlog

from waypost.core.settings import Settings
from waypost.storage.store import StorageUnavailable

_log = structlog.get_logger("storage")
_EMPTY_DIGEST = hashlib.sha256(b"").hexdigest()
_TIMEOUT = 30


class UnfinishedUploads:
    """The multipart uploads of a bucket that were neither completed nor aborted."""

    def __init__(self, settings: Settings) -> None:
        bucket = urlsplit(settings.storage_url)
        self._region = settings.storage_region or "us-east-1"
        endpoint = settings.storage_endpoint or f"https://s3.{self._region}.amazonaws.com"
        self._base = f"{endpoint.rstrip('/')}/{bucket.netloc}"
        self._prefix = bucket.path.strip("/")
        self._key, self._secret = settings.storage_key, settings.storage_secret.get_secret_value()

    def abort(self, name: str) -> None:
        """Remove the parts of an object. Without effect if the keys are not in the settings. Raises UNAVAILABLE."""
        if not self._key:
            return
        path = f"{self._prefix}/{name}".lstrip("/")
        try:
            with httpx2.Client(timeout=_TIMEOUT) as client:
                answer = self._send(client, "GET", "", {"prefix": path, "uploads": ""})
                if answer.is_success:
                    for upload in _ids(answer.content, path):
                        self._send(client, "DELETE", path, {"uploadId": upload})
        except (httpx2.HTTPError, ET.ParseError) as error:
            raise StorageUnavailable from error
        if answer.status_code >= 500 and answer.status_code != 501:
            raise StorageUnavailable
        if answer.is_error:  # not supported, or not permitted: then a rule of the bucket removes them
            _log.warning("multipart uploads cannot be listed", status=answer.status_code)

    def _send(self, client: httpx2.Client, method: str, path: str, query: Mapping[str, str]) -> httpx2.Response:
        url = f"{self._base}/{quote(path)}".rstrip("/") + "?" + urlencode(sorted(query.items()), quote_via=quote)
        headers = signed_headers(method, url, self._region, self._key, self._secret, datetime.now(UTC))
        return client.request(method, url, headers=headers)


def signed_headers(method: str, url: str, region: str, key: str, secret: str, now: datetime) -> dict[str, str]:
    """Return the headers of a request without a body. The query of `url` is sorted and percent-encoded."""
    parts = urlsplit(url)
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": parts.netloc, "x-amz-content-sha256": _EMPTY_DIGEST, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = "\n".join((method, parts.path, parts.query, lines, names, _EMPTY_DIGEST))
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    signing_key = f"AWS4{secret}".encode()
    for step in scope.split("/"):
        signing_key = hmac.digest(signing_key, step.encode(), "sha256")
    signature = hmac.digest(signing_key, text.encode(), "sha256").hex()
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={key}/{scope},SignedHeaders={names},Signature={signature}"
    return headers


def _ids(listing: bytes, path: str) -> Iterator[str]:
    """Yield the ids of the uploads of an object. `listing` comes from the store, which is trusted."""
    for upload in ET.fromstring(listing).iterfind("{*}Upload"):  # noqa: S314
        if upload.findtext("{*}Key") == path:
            yield upload.findtext("{*}UploadId", "")
