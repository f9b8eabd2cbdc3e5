"""Markdown as it is: for systems whose output is the page's markdown."""

from __future__ import annotations

from evalkit.types import Page, Prediction, RawOutput


class Markdown:
    """Passes the text through."""

    name = "markdown"
    variants = ("official",)

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """The prediction of a page."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or f"no output ({raw.state})")
        return Prediction(page.page_id, raw.text, reason=None if raw.text.strip() else "empty output")


CONVERTER = Markdown()
