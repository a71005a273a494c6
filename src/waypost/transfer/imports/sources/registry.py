"""The services with an API as sources of imports: what each needs. Files are in `file_source`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from waypost.core import setting_urls
from waypost.core.errors import invalid
from waypost.core.settings import Settings
from waypost.core.uris import ascii_host
from waypost.db.schema.imports import SOURCE_NAMES
from waypost.http.safe_client import HostPorts
from waypost.transfer.imports.planner import Source
from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources.hosted_services import BitlySource, DubSource, RebrandlySource, ShortIoSource
from waypost.transfer.imports.sources.http_reader import Patience
from waypost.transfer.imports.sources.self_hosted_services import ChhotoSource, KuttSource, ShlinkSource, YourlsSource

Service = Literal["bitly", "chhoto", "dub", "kutt", "rebrandly", "shlink", "short.io", "yourls"]
LABELS: Mapping[Service, str] = {service: SOURCE_NAMES[service] for service in get_args(Service)}
SELF_HOSTED = frozenset({"chhoto", "kutt", "shlink", "yourls"})
"""The services of which everyone runs an own server, whose URL is needed."""
_SHARED_HOSTS: Mapping[Service, Sequence[str]] = {
    "bitly": ("bit.ly", "j.mp"),
    "dub": ("dub.sh",),
    "rebrandly": ("rebrand.ly",),
}
"""The hosts of a service that all its users share, so that no account here can have them as domains."""
_WITH_HISTORY = frozenset({"bitly", "shlink", "yourls"})


@dataclass(frozen=True)
class ServiceOptions:
    """Options of a service with an API. `history`: read single clicks too. `trusted_hosts` may have internal addresses.

    `reader` are options of its HttpReader.
    """

    url: str = ""
    zone: ZoneInfo | None = None
    history: bool = True
    trusted_hosts: HostPorts = frozenset()
    reader: Mapping[str, Any] = field(default_factory=dict)


def trusted_hosts(settings: Settings) -> HostPorts:
    """Return the hosts and ports of the own network from which accounts may import."""
    return setting_urls.host_ports(settings.import_hosts)


def with_shared_hosts(service: Service, hosts: Mapping[str, str], target: str) -> Mapping[str, str]:
    """Return the hosts with those that all users of a service share, which move to `target` unless they are there."""
    return {**dict.fromkeys(_SHARED_HOSTS.get(service, ()), target), **hosts}


def hosts_of(url: str) -> HostPorts:
    """Return the host and port of a URL, for `trusted_hosts`."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return frozenset()
    return frozenset({(ascii_host(parts.hostname) or parts.hostname, port)} if parts.hostname else ())


def of_service(service: Service, token: str, options: ServiceOptions) -> Source:
    """Return the source for the API of a service. Raises INVALID on `url` or `token`."""
    if not token.strip():
        raise invalid("token", f"token: enter a token of {LABELS[service]}.")
    if service in SELF_HOSTED and not options.url:
        raise invalid("url", f"url: enter the address of your {LABELS[service]} server.")
    values: dict[str, Any] = {"base": options.url, "trusted_hosts": options.trusted_hosts, **options.reader}
    patience = values.setdefault("patience", Patience())
    if service not in SELF_HOSTED and options.url:
        raise invalid("url", f"url: {LABELS[service]} has only one address. Leave it out.")
    if service in _WITH_HISTORY:
        values["history"] = options.history
    if service == "yourls":
        values["zone"] = options.zone
    sources: Mapping[Service, Any] = {
        "bitly": BitlySource,
        "chhoto": ChhotoSource,
        "dub": DubSource,
        "kutt": KuttSource,
        "rebrandly": RebrandlySource,
        "shlink": ShlinkSource,
        "short.io": ShortIoSource,
        "yourls": YourlsSource,
    }
    return _ServiceSource(sources[service](token, **values), patience)


class _ServiceSource:
    """A source whose records, and their clicks, renew the patience with its server."""

    def __init__(self, source: Source, patience: Patience) -> None:
        self.name, self.ignored = source.name, source.ignored
        self._source, self._patience = source, patience

    def __iter__(self) -> Iterator[Record]:
        for record in self._patience.renewing(self._source):
            record.history = self._patience.renewing(record.history)
            yield record
