"""HPD-Parsing's block stream to markdown and blocks.

`official` equals the vendor's conversion, side effects included; `clean` only repairs what is broken.
"""

from __future__ import annotations

from collections.abc import Callable

from evalkit.converters.boxes import page_box
from evalkit.converters.hpd_clean import clean_official, clean_only
from evalkit.converters.hpd_stream import BLOCK, FULL, StreamBlock, read_stream
from evalkit.types import Block, Page, Prediction, RawOutput

DROPPED = frozenset({"chart", "seal"})
EQUATIONS = frozenset({"equation", "formula"})
CLEANERS: dict[str, Callable[[str], str]] = {"official": clean_official, "clean": clean_only}


class HpdConverter:
    """Reads the block stream; text without any block is an empty page, or with `verbatim` markdown as it is."""

    variants = ("official", "clean")

    def __init__(self, name: str, about: str, *, verbatim: bool) -> None:
        self.name = name
        self.about = about
        self._verbatim = verbatim

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """The prediction of a page; never an exception, whatever the text."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or f"no output ({raw.state})")
        if BLOCK not in raw.text:
            if self._verbatim and raw.text.strip():
                return Prediction(page.page_id, raw.text.strip())
            return Prediction(
                page.page_id, "", reason="no <BLOCK> in the output" if raw.text.strip() else "empty output"
            )
        clean = CLEANERS[variant]
        blocks = [_block(found, page, clean) for found in read_stream(raw.text)]
        markdown = "\n\n".join(block.text for block in blocks if block.text).strip()
        return Prediction(page.page_id, markdown, tuple(blocks))


def _block(found: StreamBlock, page: Page, clean: Callable[[str], str]) -> Block:
    is_dropped = found.content is None or found.kind in DROPPED
    text = None if is_dropped else clean(found.content or "") or None
    return Block(
        kind=found.kind,
        text=text,
        latex=text if found.kind in EQUATIONS else None,
        html=text if found.kind == "table" else None,
        bbox=page_box(found.place, page, FULL),
        source=found.source,
    )


FORK = HpdConverter("hpd", "Block stream of HPD-Parsing; text without any block is an empty page.", verbatim=False)
PLAIN = HpdConverter("hpd_plain", "The same; text without any block is taken as markdown.", verbatim=True)
