"""The page docs/settings.md: all settings in groups, each with an example and the consequence of changing it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic.fields import FieldInfo

from scripts.markdown import either, table, whole
from waypost.core import settings
from waypost.core.settings import Settings

_INTRODUCTION = """\
# Settings

{written}
Every setting works without being set. Set one in the environment under the name below, or in a TOML file
under the same name in lower case without `WAYPOST_`. The environment has precedence. The file is
`waypost.toml` in the folder in which the service starts, or the one that `WAYPOST_CONFIG` names.

```toml
base_url = "https://go.example.com"
trusted_proxies = "127.0.0.1"
```

Secrets can be in files, as containers and systemd pass them: `WAYPOST_SMTP_URL_FILE=/run/secrets/smtp_url`
instead of `WAYPOST_SMTP_URL`. The file contains one line. Setting both is an error.

`waypost doctor` checks them all. A value that cannot be right keeps the service from starting.
"""


class Note(NamedTuple):
    """An example of a setting, and what happens with the example: the page says so."""

    example: str
    consequence: str


GROUPS: Mapping[str, Mapping[str, Note]] = {
    "Addresses": {
        "base_url": Note(
            "https://go.example.com",
            "New short URLs begin with it. Short URLs with the old host end, unless `WAYPOST_FORMER_HOSTS` names it.",
        ),
        "dashboard_url": Note(
            "https://dash.example.com",
            "Recommended: a script on a page of the service's own host can then not reach the session. The"
            " host needs a certificate, and the proxy must pass it.",
        ),
        "former_hosts": Note(
            "go.old.example,s.old.example",
            "Old short URLs keep working while the old names point to the service. Branded domains cannot have them.",
        ),
        "root_redirect": Note("https://www.example.com/", "Visitors of / no longer see that there is a dashboard."),
        "not_found_redirect": Note(
            "https://www.example.com/",
            "A mistyped alias leads there instead of to an error page with status 404.",
        ),
        "host": Note(
            "0.0.0.0",  # noqa: S104  # an example
            "Other machines can reach the service without the proxy, unless a firewall prevents it.",
        ),
        "port": Note("8080", "The proxy must use the new port. Ports below 1024 need a privilege."),
        "trusted_proxies": Note(
            "127.0.0.1",
            "The proxy on the same machine tells the address of each visitor. Without it, all visitors have the"
            " address of the proxy: rate limits, unique clicks and countries are wrong. With too wide a network,"
            " visitors can choose their address. Clients whose address a trusted proxy does not tell are unknown; see"
            " docs/reverse-proxy.md.",
        ),
        "country_header": Note(
            "CF-IPCountry",
            "The country of a visit comes from the proxy, and no database is read.",
        ),
        "domain_check": Note("off", "A branded domain works before its DNS entry exists."),
    },
    "Data": {
        "data_dir": Note(
            "/var/lib/waypost",
            "Everything to back up is there, unless other settings name other places.",
        ),
        "database_url": Note(
            "postgresql://waypost:password@db/waypost",
            "The service begins with an empty database; `waypost migrate-database` copies the old one.",
        ),
        "storage_url": Note(
            "s3://files/waypost",
            "Files that are already in the folder are not found there: copy them first.",
        ),
        "storage_endpoint": Note(
            "https://s3.example.com",
            "The bucket is looked up at this server instead of at Amazon.",
        ),
        "storage_region": Note(
            "eu-central-1",
            "Requests are signed for this region. A wrong one is refused by Amazon S3.",
        ),
        "storage_key": Note("AKIAIOSFODNN7EXAMPLE", "The credentials of the machine are not used."),
        "storage_secret": Note("wJalrXUtnFEMI", "Belongs to WAYPOST_STORAGE_KEY; better in a file."),
        "storage_presigned": Note(
            "on",
            "Downloads no longer pass through the service, so they need neither its bandwidth nor its memory.",
        ),
        "file_grace_days": Note(
            "30",
            "Expired files fill the storage longer, and their owners can extend them longer.",
        ),
        "journal_sync": Note(
            "always",
            "No click is lost in a power cut. Each click waits for the disk, so redirects are slower.",
        ),
    },
    "Visits and privacy": {
        "audit_days": Note("1095", "Changes and their authors are known for longer, and need more space."),
        "events_days": Note("90", "Single visits are listed for longer, and need more space."),
        "geo_file": Note(
            "/usr/share/GeoIP/GeoLite2-Country.mmdb",
            "Visits are counted by country. Other visits stay unknown.",
        ),
        "geo_detail": Note(
            "on",
            "Statistics have the visitors of regions and cities, of those with five or more. Run waypost geo update"
            " once: its database then has cities, and is ten times as large.",
        ),
        "pixel_consent": Note("on", "Visitors see a question first; links with pixels take one click more."),
        "import_hosts": Note("shlink.internal", "Every account can send requests to that host."),
        "webhook_hosts": Note("n8n.internal", "Every account can send signed requests with its events to that host."),
        "link_schemes": Note("mailto,tel", "Links can open other programs. Schemes that run scripts stay forbidden."),
        "dead_links_days": Note(
            "7",
            "The service requests every destination once a week and reports those that fail.",
        ),
        "favicons": Note(
            "off",
            "Hosts of destinations are not asked for their icon; lists show the first character of the host.",
        ),
    },
    "Accounts and e-mail": {
        "registration": Note("on", "Strangers can create links: watch the block list and reports."),
        "owner_email": Note("you@example.com", "Only the first start reads it."),
        "smtp_url": Note(
            "smtp://waypost:password@mail.example.com:587",
            "Users can reset their passwords themselves.",
        ),
        "smtp_tls": Note("off", "Passwords of e-mail and reset links travel unencrypted to the server."),
        "mail_from": Note(
            "waypost@example.com",
            "Mail servers may refuse a sender that does not belong to their domain.",
        ),
        "mcp": Note(
            "on",
            "Programs with an API key can use all tools of the MCP server, within the scopes of the key.",
        ),
    },
    "Operation": {
        "workers": Note("4", "More requests run at the same time. Each worker has its own memory for redirects."),
        "api_workers": Note(
            "1",
            "Heavy use of the API delays redirects less. Workers show its changes within a second instead of at once."
            " Each needs memory and connections like a worker.",
        ),
        "cache_mb": Note("512", "More redirects are answered from memory; each worker needs that much."),
        "transfer_seconds": Note("300", "Slow uploads and downloads live longer, and so do those that are stuck."),
        "shutdown_seconds": Note("60", "A stop waits longer for uploads. systemd must wait longer than that."),
        "metrics_networks": Note(
            "10.0.0.0/8",
            "Prometheus can read /metrics from there; others get the page of an unknown alias.",
        ),
        "traces_url": Note(
            "http://localhost:4318/v1/traces",
            "Requests of the API and the dashboard take slightly longer.",
        ),
        "log_level": Note("warning", "Requests of the API are no longer logged."),
        "log_format": Note("json", "A log collector can read the fields; people read them less easily."),
        "pseudo_language": Note(
            "on", "Translators see which texts are not translated, and how pages look from right to left."
        ),
    },
}
"""Every setting by group, in the order of the page."""


def page(written: str) -> str:
    """Return the page; `written` is the remark that it is generated."""
    lines = [_INTRODUCTION.format(written=written)]
    for title, notes in GROUPS.items():
        rows = ((f"[`{_variable(name)}`](#{_anchor(name)})", _default(_field(name))) for name in notes)
        lines += [f"## {title}", "", table(("Setting", "Default"), rows)]
        for name, note in notes.items():
            lines += _section(name, note)
    return "\n".join(lines).rstrip() + "\n"


def _section(name: str, note: Note) -> list[str]:
    field = _field(name)
    lines = [f"### `{_variable(name)}`", "", str(field.description), ""]
    lines += [f"- Default: {_default(field)}", f"- Values: {_values(field)}"]
    if name in settings.SECRETS:
        lines.append(f"- Or a file with the value: `{settings.secret_variable(name)}`")
    lines.append(f"- Example: `{_variable(name)}={note.example}`")
    return [*lines, f"- With the example: {note.consequence}", ""]


def _variable(name: str) -> str:
    return f"WAYPOST_{name.upper()}"


def _anchor(name: str) -> str:
    return _variable(name).lower()


def _field(name: str) -> FieldInfo:
    return Settings.model_fields[name]


def _default(field: FieldInfo) -> str:
    return f"`{field.default}`" if str(field.default) else "none"


def _values(field: FieldInfo) -> str:
    if choices := get_args(field.annotation):
        return either(choices)
    if field.annotation is not int:
        return "a path" if field.annotation is Path else "text"
    bounds = {name: getattr(rule, name) for rule in field.metadata for name in ("ge", "le") if hasattr(rule, name)}
    return whole(bounds.get("ge"), bounds.get("le"))
