"""Recorded answers: what a system said for each page image, from which the emulated server answers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError, UserError
from runners.emulator.pages import BlockTokens, Content, PageTokens

STREAMS_SCHEMA = "evalkit.recorded_streams"
FORK_WORDS = "with fork"
_BLOCK = re.compile(r"<BLOCK>\s*(\w+)[^<]*(?:<CHILD>)?")
_KINDS = {
    "table": Content.TABLE,
    "equation": Content.FORMULA,
    "formula": Content.FORMULA,
    "equation_block": Content.FORMULA,
}


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """One recorded answer with its token counts. `prompt` is the prompt it answers (None: any)."""

    page_id: str
    text: str
    input_tokens: int
    output_tokens: int
    layout_tokens: tuple[int, ...] = ()
    content_tokens: tuple[int | None, ...] = ()
    prompt: str | None = None

    @property
    def forked(self) -> bool:
        """Whether it was decoded in branches."""
        return bool(self.layout_tokens)

    def page_tokens(self, prefix_key: str) -> PageTokens:
        """What the answer costs, so that its streams emit exactly the recorded number of tokens."""
        blocks = self._forked_blocks() if self.forked else self._sequential_blocks()
        spent = sum(block.layout + (block.content or 0) for block in blocks)
        closing = self.output_tokens - spent
        if self.forked and closing < 1:
            closing = 1
        return PageTokens(self.page_id, self.input_tokens, 0, blocks, closing, prefix_key)

    def _forked_blocks(self) -> tuple[BlockTokens, ...]:
        kinds = [_KINDS.get(name, Content.TEXT) for name in _BLOCK.findall(self.text)]
        kinds += [Content.TEXT] * (len(self.layout_tokens) - len(kinds))
        before = (0, *self.layout_tokens[:-1])
        return tuple(
            BlockTokens(max(reached - earlier, 0), content or None, kind)
            for reached, earlier, content, kind in zip(
                self.layout_tokens, before, self.content_tokens, kinds, strict=False
            )
        )

    def _sequential_blocks(self) -> tuple[BlockTokens, ...]:
        """Blocks of a single trajectory, tokens shared out by characters."""
        starts = [(found.start(), found.end(), found.group(1)) for found in _BLOCK.finditer(self.text)]
        if not starts:
            kind = Content.TABLE if "<table" in self.text or "<fcel>" in self.text else Content.TEXT
            return (BlockTokens(0, self.output_tokens, kind),)
        ends = [start for start, _, _ in starts[1:]] + [len(self.text)]
        blocks = []
        spent = self._share(starts[0][0])
        for (_, head_end, name), end in zip(starts, ends, strict=True):
            head, whole = self._share(head_end), self._share(end)
            layout = max(head - spent, 0)
            blocks.append(BlockTokens(layout, max(whole - spent - layout, 0), _KINDS.get(name, Content.TEXT)))
            spent = max(whole, spent)
        return tuple(blocks)

    def _share(self, characters: int) -> int:
        return self.output_tokens * characters // max(len(self.text), 1)


class AnswerBook:
    """Recorded answers by the sha256 of the image they belong to."""

    def __init__(self, answers: Mapping[str, list[RecordedAnswer]]) -> None:
        if not answers:
            raise UserError("the recorded answers hold no page; give another file with --data")
        self._answers = dict(answers)
        self._keys = sorted(self._answers)
        by_text = sorted((answer for group in answers.values() for answer in group), key=lambda answer: answer.forked)
        self._by_text = {answer.text: answer for answer in by_text if answer.text}

    def __len__(self) -> int:
        return len(self._answers)

    def known(self, image_sha256: str) -> bool:
        """Whether there is an answer for an image."""
        return image_sha256 in self._answers

    def find(self, image_sha256: str, prompt: str) -> RecordedAnswer:
        """The answer for an image and prompt; for an unknown image that of a page chosen by its hash."""
        key = image_sha256
        if key not in self._answers:
            key = self._keys[int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) % len(self._keys)]
        group = self._answers[key]
        exact = [answer for answer in group if answer.prompt is not None and answer.prompt == prompt.strip()]
        if exact:
            return exact[0]
        wants_fork = FORK_WORDS in prompt
        return min(group, key=lambda answer: (answer.prompt is not None, answer.forked != wants_fork))

    def with_text(self, text: str) -> RecordedAnswer | None:
        """The answer that has this text, or None; a forked one where both modes said the same."""
        return self._by_text.get(text)


def load_answers(path: Path, images: Path | None = None) -> AnswerBook:
    """Read recorded streams, recorded answers, or a finished run (then `images` holds the page images).

    Raises UserError or InvalidFileError with every mistake of the file.
    """
    if path.is_dir():
        return AnswerBook(_run_answers(path, images))
    answers: dict[str, list[RecordedAnswer]] = {}
    problems: list[str] = []
    for number, row in _rows(path, problems):
        try:
            key = row["image_sha256"]
            answers.setdefault(key, []).extend(recorded_answers(row))
        except (KeyError, TypeError, ValueError) as error:
            problems.append(
                f"line {number}: {type(error).__name__} {error}; expected page_id, image_sha256, text, tokens"
            )
    if problems:
        raise InvalidFileError(str(path), problems)
    return AnswerBook(answers)


def _rows(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")  # not splitlines(): JSON text may hold U+2028
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: no such file; expected recorded answers, or a run whose infer/ holds raw outputs"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(path), [f"not UTF-8 text (byte {error.start})"]) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            problems.append(f"line {number}: not valid JSON")
            continue
        if not isinstance(row, dict):
            problems.append(f"line {number}: expected an object")
        elif "schema" not in row:
            yield number, row


def read_rows(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Numbered rows of a JSONL file without its header. Raises InvalidFileError with every bad line."""
    problems: list[str] = []
    rows = list(_rows(path, problems))
    if problems:
        raise InvalidFileError(str(path), problems)
    return rows


def recorded_answers(row: Mapping[str, Any]) -> list[RecordedAnswer]:
    """The answers in one row of recorded streams or answers."""
    page_id = str(row["page_id"])
    if "fork" not in row and "plain" not in row:
        return [_answer(page_id, row, row.get("prompt"))]
    return [_answer(page_id, row[mode], None) for mode in ("fork", "plain") if row.get(mode) is not None]


def _answer(page_id: str, row: Mapping[str, Any], prompt: str | None) -> RecordedAnswer:
    tokens = row["tokens"]
    layout = tuple(int(value) for value in row.get("layout_tokens") or ())
    content = tuple(None if value is None else int(value) for value in row.get("content_tokens") or ())
    if len(layout) != len(content):
        raise ValueError(f"page {page_id}: {len(layout)} layout_tokens but {len(content)} content_tokens")
    return RecordedAnswer(
        page_id=page_id,
        text=str(row["text"]),
        input_tokens=int(tokens["input"]),
        output_tokens=max(int(tokens["output"]), 1),
        layout_tokens=layout,
        content_tokens=content,
        prompt=prompt,
    )


def _run_answers(folder: Path, images: Path | None) -> dict[str, list[RecordedAnswer]]:
    """Answers of a finished run, joined with the page images by name."""
    if images is None:
        raise UserError(f"{folder}: a run does not hold its page images; name their folder with --images")
    answers: dict[str, list[RecordedAnswer]] = {}
    problems: list[str] = []
    for _, row in _rows(folder / "infer" / "requests.jsonl", problems):
        image = images / str(row.get("page_id"))
        tokens = row.get("tokens") or {}
        if not row.get("text") or not image.is_file():
            continue
        digest = hashlib.sha256(image.read_bytes()).hexdigest()
        counts = {"input": tokens.get("input") or 0, "output": tokens.get("output") or len(row["text"]) // 3 + 1}
        answers.setdefault(digest, []).append(_answer(str(row["page_id"]), {**row, "tokens": counts}, None))
    return answers
