"""Profiles: the URL and API key of services, in a file that only its user can read."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast


class ProfileError(Exception):
    """A profile is missing, or its file cannot be used."""


@dataclass(frozen=True)
class Profile:
    """A service and an API key. The key is not in `repr`."""

    url: str
    key: str

    def __repr__(self) -> str:
        """Return the URL only."""
        return f"Profile({self.url!r})"


@dataclass(frozen=True)
class Profiles:
    """All profiles, and the name of the default."""

    by_name: dict[str, Profile]
    default: str = ""


def path() -> Path:
    """Return the path of the file: WAYPOST_PROFILES, or in the folder for settings of the user."""
    if file := os.environ.get("WAYPOST_PROFILES"):
        return Path(file)
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "waypost" / "profiles.json"


def load() -> Profiles:
    """Return the profiles of the file; none without a file. Raises ProfileError."""
    file = path()
    try:
        data = cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8")))
        profiles = {str(name): Profile(str(each["url"]), str(each["key"])) for name, each in data["profiles"].items()}
        return Profiles(profiles, str(data.get("default", "")))
    except FileNotFoundError:
        return Profiles({})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProfileError(f"{file} cannot be read as profiles: {type(error).__name__}.") from None


def save(profiles: Profiles) -> None:
    """Replace the file, with mode 0600 from its first byte. Raises ProfileError."""
    file = path()
    content = {"default": profiles.default, "profiles": {n: asdict(each) for n, each in profiles.by_name.items()}}
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".profiles-")  # with mode 0600
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(content, opened, indent=2)
        Path(name).replace(file)
    except OSError as error:
        raise ProfileError(f"{file} cannot be written: {error.strerror}.") from None


def choose(name: str | None) -> Profile:
    """Return the named profile; without a name that of WAYPOST_URL and WAYPOST_API_KEY, else the default.

    Raises ProfileError.
    """
    url, key = os.environ.get("WAYPOST_URL", ""), os.environ.get("WAYPOST_API_KEY", "")
    if name is None and (url or key):
        if not (url and key):  # a key must not reach the service of another profile
            raise ProfileError("Set both WAYPOST_URL and WAYPOST_API_KEY, or neither.")
        return Profile(url, key)
    profiles = load()
    selected = name or profiles.default
    if not selected:
        hint = "Add one with `profile add NAME --url URL`, or set WAYPOST_URL and WAYPOST_API_KEY."
        raise ProfileError(f"There is no profile. {hint}")
    if selected not in profiles.by_name:
        raise ProfileError(f"There is no profile {selected!r}. `profile list` lists them.")
    return profiles.by_name[selected]
