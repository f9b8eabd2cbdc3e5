"""Markdown in wrappings: thoughts, front matter, fences, image and box links, and endless tails.

Sources: the OmniDocBench scripts of Qianfan-OCR, Ovis and the general models; olmOCR's page format; the card of
HunyuanOCR.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from evalkit.types import Page, Prediction, RawOutput

FENCE = re.compile(r"\A\s*```(?:markdown|md)?[ \t]*\n")
IMAGE_LINE = re.compile(r"^[ \t]*!\[[^\]\n]{0,500}\]\([^)\n]{0,2000}\)[ \t]*$", re.MULTILINE)
BBOX_IMAGE = re.compile(r"<img src=\"images/bbox_[^>\n]{0,200}>")
BOX_LINK = re.compile(r"!\[[^\]\n]{0,200}\]\(<box>[^)\n]{0,400}</box>\)")
COORDINATE_PAIR = re.compile(r"\(\d{1,5},\d{1,5}\)")
BLANK_LINES = re.compile(r"\n{3,}")
LOOP_MIN_CHARS = 8000  # answers shorter than this are not searched for an endless tail
LOOP_MAX_PERIOD = 2000
LOOP_MIN_REPEATS = 10
LOOP_MIN_SPAN = 100


def without_thought(text: str) -> str:
    """The answer after a `<think>` part; an unclosed thought leaves nothing."""
    start = text.find("<think>")
    if start < 0:
        return text.split("</think>", 1)[-1]
    end = text.find("</think>", start)
    return text[:start] + (text[end + len("</think>") :] if end >= 0 else "")


def without_front_matter(text: str) -> str:
    """The text after a leading `---` … `---` block of `key: value` lines."""
    lines = text.lstrip().split("\n")
    if lines[0].strip() != "---":
        return text
    for index, line in enumerate(lines[1:40], start=1):
        if line.strip() == "---":
            return "\n".join(lines[index + 1 :])
        if ":" not in line:
            return text
    return text


def without_outer_fence(text: str) -> str:
    """The text inside one fence around the whole answer; a fence that a cut answer never closes is removed too."""
    opening = FENCE.match(text)
    if opening is None:
        return text
    inner = text[opening.end() :].rstrip()
    return inner[:-3].rstrip() if inner.endswith("```") and inner.count("```") % 2 == 1 else inner


def without_images(text: str) -> str:
    """The text without lines that hold only an image, image tags that stand for a box, and box links."""
    return IMAGE_LINE.sub("", BBOX_IMAGE.sub("", BOX_LINK.sub("", text)))


def without_trailing_boxes(text: str) -> str:
    """The text without two or more coordinate pairs `(x,y),(x,y)` that leaked to the end of a line."""
    return "\n".join(_without_pairs(line) for line in text.split("\n"))


def _without_pairs(line: str) -> str:
    end = len(line.rstrip())
    pairs = 0
    while end and line[end - 1] in "),":
        stop = end - (line[end - 1] == "," and pairs > 0)
        start = line.rfind("(", max(stop - 13, 0), stop)
        if start < 0 or COORDINATE_PAIR.fullmatch(line, start, stop) is None:
            break
        end = start
        pairs += 1
    return line[:end] if pairs > 1 else line


def without_endless_tail(text: str) -> str:
    """The text with a tail that repeats one unit ten times or more cut to one unit. Linear in the text."""
    if len(text) < LOOP_MIN_CHARS:
        return text
    backwards = text[::-1]
    same = _common_prefixes(backwards)
    for period in range(1, min(LOOP_MAX_PERIOD, len(text) - 1) + 1):
        span = same[period] + period
        if span >= LOOP_MIN_REPEATS * period and span >= LOOP_MIN_SPAN:
            kept = span % period + period  # a part of the unit before the first whole one, then one unit
            return text[: len(text) - span + kept]
    return text


def _common_prefixes(text: str) -> list[int]:
    """Z function: for each position, how many characters from there equal those from the start."""
    lengths = [0] * len(text)
    left = right = 0
    for index in range(1, len(text)):
        length = min(right - index, lengths[index - left]) if index < right else 0
        while index + length < len(text) and text[length] == text[index + length]:
            length += 1
        lengths[index] = length
        if index + length > right:
            left, right = index, index + length
    return lengths


Step = Callable[[str], str]
OFFICIAL: tuple[Step, ...] = (without_thought, without_front_matter, without_outer_fence, without_images)
CLEAN: tuple[Step, ...] = (*OFFICIAL, without_trailing_boxes, without_endless_tail)


class WrappedMarkdown:
    """Takes the markdown out of its wrappings; no boxes."""

    name = "wrapped_markdown"
    variants = ("official", "clean")

    def convert(self, raw: RawOutput, page: Page, variant: str = "official") -> Prediction:
        """Markdown without its wrappings."""
        if raw.text is None:
            return Prediction(page.page_id, None, reason=raw.reason or str(raw.state))
        text = raw.text
        for step in OFFICIAL if variant == "official" else CLEAN:
            text = step(text)
        return Prediction(page.page_id, BLANK_LINES.sub("\n\n", text).strip())


CONVERTER = WrappedMarkdown()
