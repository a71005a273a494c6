"""Compare QR codes with segno and qrcode, and cached images with nginx: `python -m bench.qr`.

Drawing is on one core, each maker in turn, round after round, because machines have moods; a median is of single codes,
each with a text of its own. Serving: both servers on one core in turn, the load (wrk) on the other.
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from statistics import median

import qrcode
import qrcode.image.svg
import segno
from PIL import Image, ImageDraw
from qrcode.image.styledpil import StyledPilImage
from qrcode.image.styles.colormasks import SolidFillColorMask

from bench import servers
from tests.support.system_packages import require_programs
from waypost.media.qrcode import render
from waypost.media.qrcode.render import design
from waypost.media.qrcode.styles import Gradient, Style

_INK, _PAPER = "#0b3d91", "#fff6e0"
_SIZE = 512
Make = Callable[[str], bytes]


def main() -> None:
    """Print the tables; exit with how many bars were missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--codes", type=int, default=40, help="codes in a round")
    parser.add_argument("--seconds", type=int, default=5, help="of load in a round")
    parser.add_argument("--no-serving", action="store_true")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {0})
    missed = _drawing(arguments.rounds, arguments.codes)
    if not arguments.no_serving:
        missed += _serving(arguments.rounds, arguments.seconds)
    sys.exit(missed)


def _works() -> dict[str, dict[str, Make]]:
    """Return the programs that draw each kind of code."""
    logo, image = _logo()
    return {
        "PNG 512 px, colour and logo": {
            "waypost": lambda text: design(text, Style(_INK, _PAPER), logo).render("png", _SIZE),
            "segno": lambda text: _segno_png(text, image),
            "qrcode": lambda text: _qrcode_png(text, image),
        },
        "plain SVG": {
            "waypost": lambda text: design(text).render("svg", _SIZE),
            "segno": _segno_svg,
            "qrcode": _qrcode_svg,
        },
        "plain PNG 512 px": {
            "waypost": lambda text: design(text).render("png", _SIZE),
            "segno": lambda text: _segno_png(text, None),
            "qrcode": lambda text: _qrcode_png(text, None),
        },
        "PNG, gradient, dots, caption, logo": {"waypost": lambda text: design(text, _ALL, logo).render("png", _SIZE)},
        "the same, proven": {"waypost": lambda text: _proven(text, logo)},
    }


def _drawing(rounds: int, codes: int) -> int:
    bars = {"PNG 512 px, colour and logo": 8.0, "plain SVG": 1.5}
    missed = 0
    print(f"{'median of one code, ms':36}{'waypost':>9}{'segno':>9}{'qrcode':>9}{'bytes':>9}   bar")
    for work, makers in _works().items():
        times: dict[str, list[float]] = {name: [] for name in makers}
        size = 0
        for turn in range(rounds + 1):
            for name, make in makers.items():
                for number in range(codes):
                    text = f"https://go.example.com/{work[:3]}{turn}{name[:1]}{number:03d}".lower().replace(" ", "")
                    began = time.perf_counter()
                    data = make(text)
                    if turn:  # the first round warms up
                        times[name].append(time.perf_counter() - began)
                    size = len(data) if name == "waypost" else size
        ms = {name: median(item) * 1000 for name, item in times.items()}
        ratio = min((other / ms["waypost"] for name, other in ms.items() if name != "waypost"), default=0.0)
        is_fast_enough = ms["waypost"] < bars.get(work, 1e9) and (work not in bars or ratio >= 3)
        missed += not is_fast_enough
        verdict = (
            f"under {bars[work]} ms, 3 x faster: {ratio:.1f} x{'' if is_fast_enough else '  MISSED'}"
            if work in bars
            else ""
        )
        cells = "".join(f"{ms[name]:9.2f}" if name in ms else f"{'':9}" for name in ("waypost", "segno", "qrcode"))
        print(f"{work:36}{cells}{size:9}   {verdict}", flush=True)
    return missed


_ALL = Style(_INK, _PAPER, Gradient("#802040"), "dots", "dot", caption="Scan me")


def _proven(text: str, logo: bytes) -> bytes:
    drawing = design(text, _ALL, logo)
    render.must_scan(drawing, text)
    return drawing.render("png", _SIZE)


def _logo() -> tuple[bytes, Image.Image]:
    image = Image.new("RGBA", (400, 400), (0, 0, 0, 0))
    ImageDraw.Draw(image).ellipse((0, 0, 399, 399), "#e11d48")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue(), image


def _segno_png(text: str, logo: Image.Image | None) -> bytes:
    """Its own PNG, scaled to about the size; a logo is pasted, as its documentation shows."""
    symbol = segno.make(text, error="h" if logo else "m", micro=False)
    out = io.BytesIO()
    symbol.save(out, kind="png", scale=_SIZE // symbol.symbol_size()[0], dark=_INK, light=_PAPER)
    if logo is None:
        return out.getvalue()
    picture = Image.open(out).convert("RGB")
    return _pasted(picture, logo)


def _qrcode_png(text: str, logo: Image.Image | None) -> bytes:
    level = qrcode.constants.ERROR_CORRECT_H if logo else qrcode.constants.ERROR_CORRECT_M
    symbol = qrcode.QRCode(error_correction=level, border=4)
    symbol.add_data(text)
    symbol.create()
    symbol.box_size = _SIZE // (symbol.modules_count + 8)
    if logo is None:
        out = io.BytesIO()
        symbol.make_image(fill_color=_INK, back_color=_PAPER).save(out)
        return out.getvalue()
    colors = SolidFillColorMask(back_color=(255, 246, 224), front_color=(11, 61, 145))
    out = io.BytesIO()
    symbol.make_image(image_factory=StyledPilImage, color_mask=colors, embedded_image=logo).save(out)
    return out.getvalue()


def _pasted(picture: Image.Image, logo: Image.Image) -> bytes:
    side = picture.width // 5
    small = logo.resize((side, side), Image.Resampling.LANCZOS)
    at = (picture.width - side) // 2
    picture.paste(small, (at, at), small)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def _segno_svg(text: str) -> bytes:
    out = io.BytesIO()
    segno.make(text, error="m", micro=False).save(out, kind="svg", scale=10)
    return out.getvalue()


def _qrcode_svg(text: str) -> bytes:
    symbol = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M)
    symbol.add_data(text)
    out = io.BytesIO()
    symbol.make_image(image_factory=qrcode.image.svg.SvgPathImage).save(out)
    return out.getvalue()


def _serving(rounds: int, seconds: int) -> int:
    """Hot pictures: requests a second of each, and how much of nginx's that is."""
    require_programs("nginx", "wrk", "taskset", "pgrep")
    missed = 0
    print(f"\n{'hot picture, requests a second':36}{'waypost':>9}{'nginx':>9}{'share':>9}{'bytes':>9}   bar")
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        key = servers.account(folder / "data")
        ours = stack.enter_context(servers.waypost(folder / "data"))
        nginx = stack.enter_context(servers.nginx(folder, f"location / {{ root {folder}; }}", "user root;"))
        servers.call(ours, key, "POST", "/qr/add", {"type": "link", "data": "https://example.com/", "custom": "hot"})
        for what, path in (("plain PNG", "hot.png"), ("SVG", "hot.svg"), ("PNG 2000 px", "hot.png?size=2000")):
            with urllib.request.urlopen(f"{ours.url}/qr/{path}") as response:
                body = response.read()
            (folder / "picture").write_bytes(body)
            rates: dict[str, list[float]] = {"ours": [], "nginx": []}
            for _ in range(rounds):
                rates["ours"].append(servers.wrk(f"{ours.url}/qr/{path}", seconds).a_second)
                rates["nginx"].append(servers.wrk(f"{nginx.url}/picture", seconds).a_second)
            own, theirs = median(rates["ours"]), median(rates["nginx"])
            is_fast_enough = own >= theirs / 2
            missed += not is_fast_enough
            verdict = f"0.5 x nginx{'' if is_fast_enough else '  MISSED'}"
            print(f"{what:36}{own:9.0f}{theirs:9.0f}{own / theirs:9.2f}{len(body):9}   {verdict}", flush=True)
    return missed


if __name__ == "__main__":
    main()
