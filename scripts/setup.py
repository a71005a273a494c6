"""Create .venv with all dependencies of waypost from the configured package registry. Needs only Python.

usage: python3 scripts/setup.py UV [--dev | --wheel]

UV is the path of uv. If it is missing, it is installed into .tools, by pip or directly from the registry. If uv fails,
venv and pip are used instead. --wheel builds the wheels of waypost and of its client in dist/, and no .venv.
"""

import configparser
import hashlib
import html
import os
import platform
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"


def main() -> int:
    """Set up the environment; return 0 on success."""
    if sys.version_info < (3, 11):  # noqa: UP036  # the script can be started with an older Python
        print(f"waypost needs Python 3.11 or newer; this is {platform.python_version()}.", file=sys.stderr)
        return 1
    uv, dev = sys.argv[1], "--dev" in sys.argv[2:]
    os.chdir(ROOT)
    if "--wheel" in sys.argv[2:]:
        return 0 if wheels_with_uv(uv) or wheels_with_pip() else 1
    if not with_uv(uv, dev):
        print("Setup with uv failed; trying venv and pip.", file=sys.stderr)
        if not with_pip(dev):
            return 1
    find_sources_in_every_locale()
    # Precompile: without write access at run time, every start would compile a thousand modules, which takes seconds.
    unused = "/(tests|mypy|mypyc)/"  # tests of dependencies, and modules that are compiled to machine code
    run(".venv/bin/python", "-m", "compileall", "-qq", "-j", "0", "-x", unused, ".venv/lib", "src")
    return 0


def find_sources_in_every_locale() -> None:
    """Write the paths of our sources relative to the environment.

    Python reads .pth files in the encoding of the locale, so a folder named Größe would not work with LC_ALL=C.
    """
    for file in ROOT.glob(".venv/lib/python*/site-packages/*.pth"):
        source = Path(os.fsdecode(file.read_bytes().strip()))
        if source.is_absolute() and source.is_relative_to(ROOT):
            file.write_bytes(os.fsencode(os.path.relpath(source, file.parent)))


def with_uv(uv: str, dev: bool) -> bool:  # noqa: FBT001  # a script of its own, called once
    """Create .venv with uv; install uv first if it is missing. Return whether that worked."""
    return (Path(uv).exists() or get_uv()) and run(uv, "sync", "--frozen", "--quiet", *([] if dev else ["--no-dev"]))


def get_uv() -> bool:
    """Install uv into .tools; return whether that worked."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(TOOLS))
    if run(sys.executable, "-c", "import pip", quiet=True) and run(*pip, "--upgrade", "uv"):
        return True
    try:
        unpack_uv()
    except (OSError, LookupError, ValueError) as error:
        print(f"uv could not be downloaded: {error}", file=sys.stderr)
        return False
    return True


def unpack_uv() -> None:
    """Download the newest uv wheel for this machine, verify its hash and unpack it."""
    index = registry().rstrip("/") + "/uv/"
    with urllib.request.urlopen(index, timeout=60) as page:  # noqa: S310  # the configured registry
        links = re.findall(r'href="([^"]+\.whl[^"]*)"', page.read().decode())
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    system = {"linux": "manylinux", "darwin": "macosx"}.get(sys.platform, sys.platform)
    compatible = [link for link in links if machine in link and system in link]
    if not compatible:
        raise LookupError(f"no uv wheel for {system} on {machine}")
    address, _, fragment = urllib.parse.urljoin(index, html.unescape(compatible[-1])).partition("#")
    with urllib.request.urlopen(address, timeout=300) as response:  # noqa: S310  # as above
        wheel = response.read()
    expected = fragment.removeprefix("sha256=")
    if hashlib.sha256(wheel).hexdigest() != expected:
        raise ValueError(f"{address} does not match the hash given by the registry")
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/scripts/uv"))
        target = TOOLS / "bin" / "uv"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(name))
        target.chmod(0o755)


def registry() -> str:
    """The package registry from the environment or from pip's configuration, otherwise PyPI."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if os.environ.get(name):
            return os.environ[name]
    config = configparser.ConfigParser(interpolation=None)
    config.read(["/etc/pip.conf", Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"])
    return config.get("global", "index-url", fallback="https://pypi.org/simple")


def with_pip(dev: bool) -> bool:  # noqa: FBT001  # a script of its own, called once
    """Create .venv with venv and pip, with exactly the packages of the lock file. Return whether that worked."""
    locked = ROOT / ".venv" / "requirements.txt"
    pip = (".venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    if not run(sys.executable, "-m", "venv", "--clear", ".venv"):
        return False
    locked.write_text("\n".join(requirements((ROOT / "uv.lock").read_text(), dev)) + "\n")
    ours = ("-e", ".", *(("-e", "./client") if dev else ()))
    return run(*pip, "--require-hashes", "-r", str(locked)) and run(*pip, *ours)


def requirements(lock: str, dev: bool) -> list[str]:  # noqa: FBT001  # as above
    """Return the requirements of waypost in uv.lock, for pip: with their versions, conditions and hashes."""
    import tomllib  # noqa: PLC0415  # Python 3.11 or newer; main() must report older versions

    packages = {}
    for package in tomllib.loads(lock)["package"]:  # a dependency names a version only if there are several
        packages[package["name"], package.get("version")] = packages[package["name"], None] = package
    ours = packages["waypost", None]
    pending = [(edge, "") for edge in [*ours["dependencies"], *(ours["dev-dependencies"]["dev"] if dev else ())]]
    seen: dict[tuple[str, str, str], str] = {}
    while pending:
        edge, condition = pending.pop()
        package = packages[edge["name"], edge.get("version")]
        if "marker" in edge:
            condition = f"({edge['marker']}){condition and f' and {condition}'}"
        key = (edge["name"], condition, ",".join(edge.get("extra", ())))
        if key in seen:
            continue
        seen[key] = _requirement(package, condition)
        inner = [*package.get("dependencies", ())]
        inner += [more for extra in edge.get("extra", ()) for more in package["optional-dependencies"][extra]]
        pending += [(more, condition) for more in inner]
    return sorted(set(filter(None, seen.values())))


def _requirement(package: dict, condition: str) -> str:  # type: ignore[type-arg]  # the script runs without typing
    """Return a requirement with its hashes, or "" for a package that is a folder of the source."""
    if "registry" not in package["source"]:
        return ""
    files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
    hashes = " ".join(f"--hash={file['hash']}" for file in files)
    return f"{package['name']}=={package['version']}{condition and f' ; {condition}'} {hashes}"


def wheels_with_uv(uv: str) -> bool:
    """Build the wheels in dist/ with uv; return whether that worked."""
    build = (uv, "build", "--quiet", "--wheel", "--out-dir", "dist")
    return (Path(uv).exists() or get_uv()) and run(*build) and run(*build, "client")


def wheels_with_pip() -> bool:
    """Build the wheels in dist/ with pip; return whether that worked."""
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist")
    return run(*pip, ".", "./client")


def run(*command: str, quiet: bool = False) -> bool:
    """Run a command; return whether it succeeded."""
    return subprocess.run(command, check=False, capture_output=quiet).returncode == 0  # noqa: S603  # fixed arguments


if __name__ == "__main__":
    sys.exit(main())
