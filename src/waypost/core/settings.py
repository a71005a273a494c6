"""Settings from the environment (`WAYPOST_…`) or a TOML file, validated at startup.

Secrets can be in files of their own, as containers and systemd pass them: WAYPOST_SMTP_URL_FILE names the file of
WAYPOST_SMTP_URL.
"""

import ipaddress
import os
import re
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_origin
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from sqlalchemy import make_url

from waypost.core import setting_urls
from waypost.core.uris import ascii_host

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
ROOT_PAGE = "page"
NEVER_SCHEMES = frozenset({"javascript", "data", "file", "vbscript"})
SECRETS = ("database_url", "storage_key", "storage_secret", "smtp_url")
"""The settings that can be in a file of their own."""
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]*")


def config_file() -> Path:
    """Path of the TOML file. It is optional, unless WAYPOST_CONFIG names it."""
    return Path(os.environ.get("WAYPOST_CONFIG") or "waypost.toml")


class Settings(BaseSettings):
    """Settings of the service; all have defaults. Raises ValueError or OSError for an invalid one."""

    model_config = SettingsConfigDict(env_prefix="WAYPOST_", extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", description="Address to listen on; 0.0.0.0 for all interfaces.")
    port: int = Field(8000, ge=1, le=65535, description="Port to listen on.")
    workers: int = Field(1, ge=1, le=64, description="Worker processes.")
    api_workers: int = Field(
        0, ge=0, le=64, description="Processes for the API and the dashboard only. 0: the workers do that, too."
    )
    data_dir: Path = Field(Path("data"), description="Directory of the database and the files.")
    base_url: str = Field(
        "", description="Public URL of the service, such as https://go.example.com. Default: http://localhost:PORT."
    )
    dashboard_url: str = Field(
        "",
        description="Public URL of the dashboard and the API documentation on a host of their own, such as"
        " https://dash.example.com; the host of the base URL then has none. Default: the base URL.",
    )
    former_hosts: str = Field(
        "",
        description="Comma-separated host names that the base URL had before: short URLs with them, the API and agents"
        " work as with its host. The dashboard is not there.",
    )
    root_redirect: str = Field(
        "",
        description="URL to which / of the service's own host redirects; page: a short public page. Default: the"
        " dashboard.",
    )
    not_found_redirect: str = Field(
        "", description="URL to which unknown aliases of the service's own host redirect. Default: an error page."
    )
    database_url: str = Field("", description="postgresql://… Default: SQLite in the data directory.")
    storage_url: str = Field("", description="s3://bucket/prefix. Default: a folder in the data directory.")
    storage_endpoint: str = Field("", description="https://… URL of an S3-compatible store. Default: Amazon S3.")
    storage_region: str = Field("", description="Region of the S3 store. Default: AWS_REGION, or us-east-1.")
    storage_key: str = Field("", description="Access key of the S3 store. Default: the AWS_… environment.")
    storage_secret: SecretStr = Field(SecretStr(""), description="Secret of the access key.")
    storage_presigned: Literal["off", "on"] = Field(
        "off", description="on: redirect downloads to a presigned S3 URL that is valid for one minute."
    )
    file_grace_days: int = Field(
        7, ge=0, le=36500, description="Days to keep the content of an expired file, so that it can be extended."
    )
    transfer_seconds: int = Field(
        60, ge=1, le=86400, description="Abort a transfer after this many seconds with (almost) no progress."
    )
    trusted_proxies: str = Field(
        "", description="Comma-separated addresses and networks of proxies whose X-Forwarded-For is trusted."
    )
    country_header: str = Field("", description="Header in which a trusted proxy sends the visitor's country.")
    geo_file: str = Field(
        "", description="An .mmdb country database. Default: the one that waypost geo update downloads."
    )
    geo_detail: Literal["off", "on"] = Field(
        "off", description="on: count the visitors of regions and cities, if the .mmdb database has them."
    )
    domain_check: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Require that a branded domain points to this server; auto: only if the base URL is public. With"
        " off, any account can claim any host name that no other account uses, so trust your accounts.",
    )
    events_days: int = Field(30, ge=0, le=36500, description="Days to keep single visits; 0 keeps only totals.")
    audit_days: int = Field(365, ge=1, le=36500, description="Days to keep the audit log.")
    dead_links_days: int = Field(
        0,
        ge=0,
        le=365,
        description="Check the destination of every link once in this many days; 0 turns the checks off.",
    )
    favicons: Literal["on", "off"] = Field(
        "on",
        description="on: show the icons of destinations in the dashboard. The service requests them from the hosts of"
        " destinations, from no other server, and keeps them; browsers request them from the service only.",
    )
    metrics_networks: str = Field(
        "",
        description="Comma-separated addresses and networks that may read /metrics and the details of /readyz; empty:"
        " none.",
    )
    cache_mb: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Memory of each worker for redirects, in MB; two million need 1,000."
        " 0: 1 % of the machine's memory, from 32 to 256.",
    )
    journal_sync: Literal["always", "1s", "never"] = Field(
        "1s",
        description="How often clicks are flushed to disk. A power cut can lose clicks since the last flush;"
        " a crash of waypost cannot.",
    )
    pixel_consent: Literal["off", "on"] = Field(
        "off",
        description="on: ask visitors for consent before tracking pixels run, and store the answer in a cookie.",
    )
    import_hosts: str = Field(
        "",
        description="Comma-separated hosts of your own network from which accounts may import links, such as"
        " shlink.internal or 10.0.0.7:8080; without a port, only 80 and 443. Other internal addresses are refused. The"
        " command line may read any host.",
    )
    webhook_hosts: str = Field(
        "",
        description="Comma-separated hosts of your own network to which accounts may send webhooks, such as"
        " n8n.internal or 10.0.0.7:8080; without a port, only 80 and 443. Other internal addresses are refused.",
    )
    link_schemes: str = Field(
        "",
        description="Comma-separated app schemes that links may use in addition to http and https. Bio pages may use"
        " mailto and tel without it.",
    )
    registration: Literal["off", "on"] = Field(
        "off",
        description="on: anyone can create an account in the dashboard; off: only an administrator can. With SMTP, new"
        " users must confirm their e-mail address. Without SMTP, the form reveals whether an address is registered. The"
        " plan free is then limited to 1 GiB of files and 10,000 items of each kind, unless it has other limits.",
    )
    pseudo_language: Literal["off", "on"] = Field("off", description="on: allow ar-XB, a language for tests.")
    mcp: Literal["off", "on"] = Field(
        "off",
        description="on: serve the MCP server for AI agents at /mcp. Needs the extra mcp, see docs/mcp.md.",
    )
    traces_url: str = Field(
        "",
        description="URL to which OpenTelemetry traces are sent (OTLP by HTTP), such as"
        " http://localhost:4318/v1/traces. Needs the extra otel, see docs/monitoring.md. Default: no traces.",
    )
    smtp_url: SecretStr = Field(
        SecretStr(""),
        description="SMTP server for all e-mail: confirmations, password resets, notices and reports:"
        " smtp://user:password@host:587 (STARTTLS) or smtps://…:465.",
    )
    smtp_tls: Literal["required", "off"] = Field(
        "required",
        description="required: send e-mail only through TLS with a valid certificate; SSL_CERT_FILE can name another"
        " CA. off: use smtp:// servers without TLS, such as a relay on the same machine.",
    )
    mail_from: str = Field("", description="Sender of e-mail, such as waypost@example.com. Default: the SMTP user.")
    owner_email: str = Field(
        "owner@example.com", description="E-mail of the owner account that the first start creates."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Minimum log level.")
    log_format: Literal["auto", "json", "text"] = Field("auto", description="auto: text on a terminal, otherwise JSON.")
    shutdown_seconds: int = Field(10, ge=0, le=3600, description="Seconds that a shutdown waits for running requests.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = config_file()
        if os.environ.get("WAYPOST_CONFIG") and not file.is_file():
            raise FileNotFoundError("there is no such file")
        secrets = InitSettingsSource(settings_cls, init_kwargs=read_secrets())
        return init_settings, secrets, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=file)

    _origins = field_validator("base_url", "dashboard_url")(setting_urls.origin)
    _database_urls = field_validator("database_url")(setting_urls.database)
    _buckets = field_validator("storage_url")(setting_urls.bucket)
    _endpoints = field_validator("storage_endpoint", "traces_url")(setting_urls.endpoint)
    _smtp_servers = field_validator("smtp_url")(setting_urls.smtp_server)
    _hosts = field_validator("import_hosts", "webhook_hosts")(setting_urls.hosts)
    _senders = field_validator("mail_from")(setting_urls.sender)

    @field_validator("*", mode="before")
    @classmethod
    def _choices(cls, value: Any, info: ValidationInfo) -> Any:
        """Ignore the case of a choice, such as `INFO`."""
        is_choice = get_origin(cls.model_fields[str(info.field_name)].annotation) is Literal
        return value.lower() if is_choice and isinstance(value, str) else value

    @field_validator("country_header")
    @classmethod
    def _header(cls, value: str) -> str:
        if not _HEADER.fullmatch(value):
            raise ValueError(f"{value!r} is no name of a header, such as CF-IPCountry")
        return value

    @field_validator("dashboard_url")
    @classmethod
    def _separate_host(cls, value: str, info: ValidationInfo) -> str:
        base = info.data.get("base_url") or "http://localhost"
        if value and urlsplit(value).hostname == urlsplit(base).hostname:
            raise ValueError("must have another host than the base URL: ports do not separate cookies")
        return value

    @field_validator("root_redirect", "not_found_redirect")
    @classmethod
    def _redirects(cls, value: str, info: ValidationInfo) -> str:
        is_page = info.field_name == "root_redirect" and value == ROOT_PAGE
        return value if is_page else setting_urls.redirect(value, base=info.data.get("base_url") or "")

    @field_validator("trusted_proxies", "metrics_networks")
    @classmethod
    def _networks(cls, value: str) -> str:
        for part in _parts(value):
            ipaddress.ip_network(part, strict=False)
        return value

    @field_validator("link_schemes")
    @classmethod
    def _schemes(cls, value: str) -> str:
        for part in _parts(value):
            if not re.fullmatch(r"[a-z][a-z0-9+.-]*", part) or part in NEVER_SCHEMES:
                raise ValueError(f"{part!r} cannot be allowed; name schemes such as mailto, tel, whatsapp")
        return value

    @field_validator("former_hosts")
    @classmethod
    def _former_hosts(cls, value: str) -> str:
        for part in _parts(value):
            if ascii_host(part) is None or ":" in part:
                raise ValueError(f"{part!r} is no host name, such as old.example.com, without scheme, port and path")
        return value

    @cached_property
    def base(self) -> str:
        """Public URL of the service, without a trailing slash."""
        return self.base_url or f"http://localhost:{self.port}"

    @cached_property
    def own_host(self) -> str:
        """The host name in `base`, lower-case."""
        return urlsplit(self.base).hostname or "localhost"

    @cached_property
    def dashboard(self) -> str:
        """Public URL of the host that has the dashboard, without a trailing slash."""
        return self.dashboard_url or self.base

    @cached_property
    def dashboard_host(self) -> str:
        """The host name in `dashboard`, lower-case."""
        return urlsplit(self.dashboard).hostname or "localhost"

    @cached_property
    def former(self) -> frozenset[str]:
        """The host names of `former_hosts` in ASCII, without those of today."""
        names = filter(None, map(ascii_host, _parts(self.former_hosts)))
        return frozenset(names) - {self.own_host, self.dashboard_host}

    @cached_property
    def own_hosts(self) -> frozenset[str]:
        """The host names of the service's own pages, without branded domains: now and before."""
        return self.former | {self.own_host, self.dashboard_host}

    @cached_property
    def secure_cookies(self) -> bool:
        """True if browsers reach the service by HTTPS only, so that cookies never need another connection."""
        return self.base.startswith("https:")

    @cached_property
    def uploads_dir(self) -> Path:
        """The folder of the locks of running uploads."""
        return self.data_dir / "uploads"

    @cached_property
    def favicons_dir(self) -> Path | None:
        """The folder of the icons of destinations; None if they are off."""
        return self.data_dir / "favicons" if self.favicons == "on" else None

    @cached_property
    def journal_dir(self) -> Path:
        """The folder of the click journal."""
        return self.data_dir / "journal"

    @cached_property
    def database(self) -> str:
        """The SQLAlchemy URL of the database."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'waypost.db'}"

    @cached_property
    def database_file(self) -> Path | None:
        """The file of a SQLite database; None for PostgreSQL."""
        url = make_url(self.database)
        return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None

    @cached_property
    def location(self) -> str:
        """The place of the installation for messages, without a password: the data folder or the database URL."""
        if not self.database_url:
            return str(self.data_dir.resolve())
        if self.database_file is not None:
            return str(self.database_file)
        return setting_urls.without_password(self.database_url)

    @cached_property
    def proxies(self) -> tuple[Network, ...]:
        """The networks of `trusted_proxies`."""
        return tuple(ipaddress.ip_network(part, strict=False) for part in _parts(self.trusted_proxies))

    @cached_property
    def metrics_readers(self) -> tuple[Network, ...]:
        """The networks of `metrics_networks`."""
        return tuple(ipaddress.ip_network(part, strict=False) for part in _parts(self.metrics_networks))

    @cached_property
    def metrics_dir(self) -> Path:
        """The folder for the metrics of the processes."""
        return self.data_dir / "metrics"

    @cached_property
    def schemes(self) -> frozenset[str]:
        """The app schemes that the administrator allows."""
        return frozenset(_parts(self.link_schemes))

    @cached_property
    def checks_domains(self) -> bool:
        """True if a branded domain must point to this server (decision 39)."""
        return self.has_public_name if self.domain_check == "auto" else self.domain_check == "on"

    @cached_property
    def has_public_name(self) -> bool:
        """True if the base URL has a host name that other machines can know."""
        return setting_urls.is_public_name(self.own_host)


def _parts(value: str) -> list[str]:
    return [part.strip().lower() for part in value.split(",") if part.strip()]


class SecretFileError(ValueError):
    """A file cannot be used. The message begins with the name of the variable."""


def secret_variable(setting: str) -> str:
    """Return the environment variable with the path of a setting's file."""
    return f"WAYPOST_{setting.upper()}_FILE"


def read_secrets() -> dict[str, str]:
    """Return the settings whose variables name a file, without the line break at the end. Raises SecretFileError."""
    return {setting: _secret(setting) for setting in SECRETS if os.environ.get(secret_variable(setting))}


def _secret(setting: str) -> str:
    name = secret_variable(setting)
    if f"WAYPOST_{setting.upper()}" in os.environ:
        raise SecretFileError(f"{name}: WAYPOST_{setting.upper()} is set too. Remove one of them")
    try:
        text = Path(os.environ[name]).read_text("utf-8").rstrip("\r\n")
    except OSError as error:
        raise SecretFileError(f"{name}: {os.environ[name]} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SecretFileError(f"{name}: {os.environ[name]} is not a text file in UTF-8") from error
    if not text or not text.isprintable():
        raise SecretFileError(f"{name}: {os.environ[name]} must contain one line with the value of the setting")
    return text
