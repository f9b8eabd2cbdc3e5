"""A parser as a process of its own: image paths in on standard input, a JSON line out for each.

python -m runners.parsers.worker rapid-stack
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TextIO

from evalkit.errors import EvalkitError, unknown_name
from evalkit.types import Block

PARSERS = {
    "liteparse": "runners.parsers.liteparse:LiteParseParser",
    "rapid-stack": "runners.parsers.rapid_stack:RapidStack",
    "tesseract": "runners.parsers.tesseract:Tesseract",
}


class Parser(Protocol):
    """Turns a page image into markdown and blocks."""

    def parse(self, image: Path) -> tuple[str, tuple[Block, ...]]:
        """Markdown and blocks (boxes in px) of one page image."""


def load_parser(name: str) -> Parser:
    """The parser of a name, its models loaded. Raises UserError for an unknown one."""
    if name not in PARSERS:
        raise unknown_name("parser", name, PARSERS)
    module, _, attribute = PARSERS[name].partition(":")
    parser: Parser = getattr(importlib.import_module(module), attribute)()
    return parser


def answer(parser: Parser, image: Path) -> dict[str, Any]:
    """The answer for one page: {markdown, blocks}, or {error} when the parser fails on it."""
    try:
        markdown, blocks = parser.parse(image)
    except EvalkitError as error:
        return {"error": str(error)}
    except Exception as error:  # one page: whatever a parser trips over costs that page
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    return {"markdown": markdown, "blocks": [_plain(block) for block in blocks]}


def _plain(block: Block) -> dict[str, Any]:
    box = block.bbox
    row = {"kind": block.kind, "bbox": None if box is None else list(asdict(box).values())}
    return row | {key: value for key in ("text", "html", "latex") if (value := getattr(block, key)) is not None}


def serve(name: str, requests: TextIO, answers: TextIO) -> None:
    """Load a parser, say {"ready": name}, then answer each line until the input ends."""

    def say(row: dict[str, Any]) -> None:
        answers.write(json.dumps(row, ensure_ascii=True) + "\n")
        answers.flush()

    try:
        parser = load_parser(name)
    except (EvalkitError, ImportError) as error:
        say({"failed": str(error)})
        return
    say({"ready": name})
    for line in requests:
        say(answer(parser, Path(json.loads(line)["image"])))


def main() -> None:
    """Serve on standard input and output; whatever a library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.argv[1], sys.stdin, answers)


if __name__ == "__main__":
    main()
