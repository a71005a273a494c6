"""Copy the font of QR captions and social cards into the package.

Its Python package exists as source only. With the font in the wheel of waypost, an installation builds nothing.
"""

import importlib.util
import shutil
import sys
from pathlib import Path


def copy_font(root: Path) -> None:
    """Copy the font and its license into the package of the checkout at `root`."""
    module = importlib.util.find_spec("font_roboto")
    if module is None or module.origin is None:
        sys.exit("The font of QR captions is missing: the build needs the Python package font-roboto.")
    source, target = Path(module.origin).parent / "files", root / "src" / "waypost" / "media" / "qrcode" / "font"
    target.mkdir(exist_ok=True)
    shutil.copyfile(source / "Roboto-Bold.ttf", target / "roboto-bold.ttf")
    shutil.copyfile(source / "LICENSE", target / "LICENSE.txt")


if __name__ == "__main__":
    copy_font(Path(__file__).resolve().parent.parent)
