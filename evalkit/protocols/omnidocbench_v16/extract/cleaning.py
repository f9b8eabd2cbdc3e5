"""What is removed from a page's markdown before it is taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evalkit.protocols.omnidocbench_v16.extract.blanking import blank
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, NextOccurrence, unwrap_delimited
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.rules import rule

_OPENING_FENCES = tuple(re.compile(rf"^```{name}\n?", re.MULTILINE) for name in ("markdown", "html", "latex"))
_CLOSING_FENCE = re.compile(r"```\n?$", re.MULTILINE)
_UNDERSCORES = re.compile(r"_{4,}")
_BLANKS = re.compile(r" {4,}")
_PAGE_TAGS = ("<html>", "</html>", "<body>", "</body>")
_BLANK_LINES = re.compile(r"(\n\s*\n)")
_IMAGE_DESCRIPTIONS = ("the image ", "the figure ", "the diagram ", "diagram:", "[diagram:", "[image:", "qr code ")
_ROUND_FORMULA = (Delimiter(r"\\\(", "\\)"),)
_DOLLAR_FORMULA = (Delimiter(r"\$", "$"),)


@dataclass(frozen=True, slots=True)
class Image:
    """A markdown image: its [start, end) and its alternative text."""

    start: int
    end: int
    alternative: str


def clean_markdown(markdown: str) -> str:
    """The text that is taken apart.

    Source: extract.py, md_tex_filter.
    """
    text = blank_images(markdown)
    text = remove_fences(text)
    text = shorten_runs(text)
    text = remove_page_tags(text)
    return unwrap_formulas_in_image_descriptions(text)


def images(text: str) -> Iterator[Image]:
    """Markdown images, each within one line.

    Source: extract.py, image_reg.
    """
    middle, closing, line_feed = (NextOccurrence(text, token) for token in ("](", ")", "\n"))
    start = text.find("![")
    while start >= 0:
        position = start + 1
        inner_end = middle.at_or_after(start + 2)
        end = closing.at_or_after(inner_end + 2) if inner_end >= 0 else -1
        line_end = line_feed.at_or_after(start)
        if end >= 0 and (line_end < 0 or end < line_end):
            position = end + 1
            yield Image(start, position, text[start + 2 : inner_end])
        start = text.find("![", position)


@rule(stage="extract", order=2, example=r"'a ![x](y) b' -> 'a         b'")
def blank_images(text: str) -> str:
    """Images become blanks.

    Source: extract.py, md_tex_filter.
    """
    return blank(text, ((image.start, image.end) for image in images(text)))


@rule(stage="extract", order=3, example=r"'```markdown\nText\n```' -> 'Text\n'")
def remove_fences(text: str) -> str:
    """Remove the opening fences of markdown, html and latex blocks, and all closing fences at line ends.

    Source: data_preprocess.py, remove_markdown_fences.
    Quirk: the closing fence of a code block in any other language goes too, so that code which is
    fenced on lines of its own is never found as code.
    """
    for fence in _OPENING_FENCES:
        text = fence.sub("", text)
    return _CLOSING_FENCE.sub("", text)


@rule(stage="extract", order=4, example=r"'a______b' -> 'a____b'")
def shorten_runs(text: str) -> str:
    """Runs of more than four underscores or blanks are cut to four.

    Source: data_preprocess.py, replace_repeated_chars.
    """
    return _BLANKS.sub("    ", _UNDERSCORES.sub("____", text))


@rule(stage="extract", order=5, example=r"'<html><body>x</body></html>' -> 'x'")
def remove_page_tags(text: str) -> str:
    """Remove html and body tags without attributes.

    Source: extract.py, md_tex_filter.
    """
    for tag in _PAGE_TAGS:
        text = text.replace(tag, "")
    return text


@rule(
    stage="extract",
    order=6,
    example=r"'The image displays a curve $y$ of time.' -> 'The image displays a curve y of time.'",
)
def unwrap_formulas_in_image_descriptions(text: str) -> str:
    """Paragraphs that describe an image lose their formula delimiters, so that they stay text.

    Source: extract.py, _suppress_formula_delimiters_in_image_descriptions.
    """
    blocks = _BLANK_LINES.split(text)
    for index in range(0, len(blocks), 2):
        if _describes_image(blocks[index]):
            blocks[index] = unwrap_delimited(unwrap_delimited(blocks[index], _ROUND_FORMULA), _DOLLAR_FORMULA)
    return "".join(blocks)


def _describes_image(block: str) -> bool:
    compact = " ".join(block.split()).lower()
    return len(compact) >= POLICY.extract.image_description_chars and compact.startswith(_IMAGE_DESCRIPTIONS)
