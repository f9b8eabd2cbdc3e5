"""The fonts of the page set, each pinned by sha256: only free ones that a package brings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib
from PIL import ImageFont

_MATPLOTLIB = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
_NOTO = Path("/usr/share/fonts/opentype/noto")


@dataclass(frozen=True, slots=True)
class Face:
    """A font file, the package that brings it, and its place in a collection."""

    path: Path
    package: str
    sha256: str
    index: int = 0


FACES: dict[str, Face] = {
    "serif": Face(
        _MATPLOTLIB / "STIXGeneral.ttf",
        "matplotlib (pip)",
        "167378031e2dddc6216d67819c9260e9a06ffc4c478e4e23cb98a6fd44b183c2",
    ),
    "serif_bold": Face(
        _MATPLOTLIB / "STIXGeneralBol.ttf",
        "matplotlib (pip)",
        "e8533dc7083fa346bda1933d60ea4a83b67d0945bceaf1b3541f82b4a0e2c6a0",
    ),
    "serif_italic": Face(
        _MATPLOTLIB / "STIXGeneralItalic.ttf",
        "matplotlib (pip)",
        "6cfcb333d22b7c3c623bdfd40174f14c85c3d6731ca6166c1edc80140eae8527",
    ),
    "sans": Face(
        _MATPLOTLIB / "DejaVuSans.ttf",
        "matplotlib (pip)",
        "3fdf69cabf06049ea70a00b5919340e2ce1e6d02b0cc3c4b44fb6801bd1e0d22",
    ),
    "sans_bold": Face(
        _MATPLOTLIB / "DejaVuSans-Bold.ttf",
        "matplotlib (pip)",
        "b184b89e3c1075f22f6b71575b6fc20d4972b3cfd3b23322ca6fd596dcaef167",
    ),
    "mono": Face(
        _MATPLOTLIB / "DejaVuSansMono.ttf",
        "matplotlib (pip)",
        "602ec86b8948cfcd956482fe64f94c36c867770149ef2f791d4613f443bcecb3",
    ),
    "cjk": Face(
        _NOTO / "NotoSerifCJK-Regular.ttc",
        "fonts-noto-cjk (Debian)",
        "a04178ec485dffdff7cc0c0c20e1fce9202d7e2160d805e8e44a4c8841c58481",
        index=2,
    ),
    "cjk_bold": Face(
        _NOTO / "NotoSerifCJK-Bold.ttc",
        "fonts-noto-cjk (Debian)",
        "a5d4b046c127da3d7c72f98b46c41489cd29bf52abfdf18aba920903e920d4ac",
        index=2,
    ),
    "cjk_sans": Face(
        _NOTO / "NotoSansCJK-Regular.ttc",
        "fonts-noto-cjk (Debian)",
        "b76b0433203017ca80401b2ee0dd69350349871c4b19d504c34dbdd80541690a",
        index=2,
    ),
    "cjk_sans_bold": Face(
        _NOTO / "NotoSansCJK-Bold.ttc",
        "fonts-noto-cjk (Debian)",
        "faa5f3656a78b2e2d450d27fe8382c778bc2b6bb5ea29c986664a6a435056ceb",
        index=2,
    ),
}


class FontMissing(SystemExit):
    """A font is absent, or is not the pinned file: the pages would not come out the same."""


@cache
def font(face: str, px: int) -> ImageFont.FreeTypeFont:
    """A face at a size in px. Raises FontMissing, which names the package to install."""
    pinned = FACES[face]
    _check(pinned)
    return ImageFont.truetype(str(pinned.path), px, index=pinned.index, layout_engine=ImageFont.Layout.BASIC)


def has_faces(*faces: str) -> bool:
    """Whether all these faces are installed as pinned."""
    try:
        for face in faces:
            _check(FACES[face])
    except FontMissing:
        return False
    return True


@cache
def _check(face: Face) -> None:
    if not face.path.is_file():
        raise FontMissing(f"{face.path} is missing: install {face.package}")
    found = hashlib.sha256(face.path.read_bytes()).hexdigest()
    if found != face.sha256:
        raise FontMissing(f"{face.path} has sha256 {found}, pinned is {face.sha256} (from {face.package})")
