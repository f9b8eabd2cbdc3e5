"""Pages to simulate: drawn from fitted length distributions, or taken from recorded streams or a finished run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evalkit.errors import UserError, unknown_name
from runners.emulator.pages import BlockTokens, Content, PageTokens
from runners.emulator.recorded import RecordedAnswer, read_rows, recorded_answers

PATCHES_PER_TOKEN = 4
ASSUMED_LAYOUT_TOKENS = 20
LOOPING_TOKENS = 1_000_000
_PARAGRAPH = re.compile(r"\n\s*\n")
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PageShape:
    """How many blocks pages have and how long they are; logarithms are natural, of counts and of tokens.

    `page_log_sd` is how much pages differ in the length of their blocks, `content_log_sd` how much blocks within one.
    """

    blocks_log_mean: float
    blocks_log_sd: float
    content_log_mean: float
    content_log_sd: float
    page_log_sd: float
    layout_tokens: float
    table_share: float
    table_factor: float
    formula_share: float
    without_content: float


@dataclass(frozen=True, slots=True)
class Traits:
    """What a system makes of the same pages.

    mean_tokens: mean of one trajectory, to which contents are scaled (None: as drawn). input_tokens: mean of the
    prompt, with `input_sd` between pages. looping: share of pages that go on to the token limit.
    """

    about: str
    layout_tokens: int
    input_tokens: float
    input_sd: float
    mean_tokens: float | None = None
    looping: float = 0.0


@dataclass(frozen=True, slots=True)
class DrawnPages:
    """Flat arrays of drawn pages: block `i` belongs to page `owner[i]` and starts that page's run at `starts`."""

    owner: Integers
    starts: Integers
    content: Integers
    table: npt.NDArray[np.bool_]
    formula: npt.NDArray[np.bool_]

    def sequential(self, layout: float) -> Floats:
        """Tokens of each page as one trajectory."""
        return np.add.reduceat(self.content + layout, self.starts)

    def critical_path(self, layout: float) -> Floats:
        """Tokens of each page's longest path from the start to the end of a branch."""
        reached = (np.arange(len(self.owner)) - self.starts[self.owner] + 1) * layout
        return np.maximum.reduceat(reached + self.content, self.starts)


def draw(shape: PageShape, count: int, seed: int) -> DrawnPages:
    """Block lengths of `count` pages."""
    random = np.random.default_rng(seed)
    blocks = np.exp(random.normal(shape.blocks_log_mean, shape.blocks_log_sd, count))
    blocks = np.clip(np.round(blocks), 1, 255).astype(np.int64)
    owner = np.repeat(np.arange(count), blocks)
    page_level = random.normal(0.0, shape.page_log_sd, count)[owner]
    content = np.exp(random.normal(shape.content_log_mean, shape.content_log_sd, len(owner)) + page_level)
    kind = random.random(len(owner))
    table = kind < shape.table_share
    formula = ~table & (kind < shape.table_share + shape.formula_share)
    content = np.where(table, content * shape.table_factor, content)
    content = np.where(random.random(len(owner)) < shape.without_content, 0, np.maximum(np.round(content), 1))
    starts = np.concatenate([[0], np.cumsum(blocks)[:-1]])
    return DrawnPages(owner, starts, content.astype(np.int64), table, formula)


def synthetic_pages(name: str, count: int, seed: int, **changes: Any) -> list[PageTokens]:
    """Pages of a named workload. `changes` replace its traits."""
    rows = _table()["workloads"]
    if name not in rows:
        raise unknown_name("workload", name, rows)
    traits = replace(Traits(**rows[name]), **changes)
    drawn = draw(page_shape(), count, seed)
    content = drawn.content.astype(np.float64)
    if traits.mean_tokens is not None:
        # one token a block marks the content's start in a single trajectory
        fixed = len(drawn.owner) * traits.layout_tokens + np.count_nonzero(content) + count
        content *= (traits.mean_tokens * count - fixed) / content.sum()
    tokens = np.where(drawn.content > 0, np.maximum(np.round(content), 1), 0).astype(np.int64)
    random = np.random.default_rng([seed, 1])
    inputs = np.clip(random.normal(traits.input_tokens, traits.input_sd, count), traits.input_tokens / 4, None)
    loops = random.permutation(count) < round(traits.looping * count)
    ends = [*drawn.starts[1:], len(drawn.owner)]
    return [
        _page(f"{name}-{index:05d}", int(inputs[index]), _blocks(drawn, tokens, start, end, traits), bool(loops[index]))
        for index, (start, end) in enumerate(zip(drawn.starts, ends, strict=True))
    ]


def _blocks(drawn: DrawnPages, content: Integers, start: int, end: int, traits: Traits) -> list[BlockTokens]:
    blocks = []
    for index in range(start, end):
        kind = Content.TABLE if drawn.table[index] else Content.FORMULA if drawn.formula[index] else Content.TEXT
        blocks.append(BlockTokens(traits.layout_tokens, int(content[index]) or None, kind))
    return blocks


def _page(page_id: str, inputs: int, blocks: list[BlockTokens], loops: bool) -> PageTokens:
    if loops:
        blocks = [*blocks[:-1], replace(blocks[-1], content=LOOPING_TOKENS)]
    return PageTokens(page_id, inputs, inputs * PATCHES_PER_TOKEN, tuple(blocks))


def workload_names() -> list[str]:
    """Names of the synthetic workloads."""
    return list(_table()["workloads"])


def page_shape() -> PageShape:
    """The fitted shape of pages."""
    return PageShape(**_table()["shape"])


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("workload.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class PageSource:
    """Pages twice: as one trajectory decodes them, and as branches do. `estimated`: the blocks are a guess."""

    sequential: Sequence[PageTokens]
    branching: Sequence[PageTokens]
    about: str
    estimated: bool = False


def pages_of(source: str, count: int | None, seed: int) -> PageSource:
    """Pages of a named workload, a file of recorded streams, or the folder of a finished run."""
    path = Path(source)
    if not path.exists():
        if source not in workload_names():
            raise UserError(
                f"{source}: neither a file, a folder of a run, nor a workload. Workloads: {', '.join(workload_names())}"
            )
        pages = synthetic_pages(source, count or 1651, seed)
        return PageSource(pages, pages, f"workload {source}, {len(pages)} pages, seed {seed}")
    if path.is_dir():
        return _run_pages(path, count)
    return pages_of_rows([row for _, row in read_rows(path)][:count], f"recorded streams {path.name}")


def pages_of_rows(rows: Sequence[Mapping[str, Any]], about: str, estimated: bool = False) -> PageSource:
    """Pages of rows of recorded streams or answers."""
    answers = [answer for row in rows for answer in recorded_answers(row)]
    plain = [answer for answer in answers if not answer.forked]
    forked = [answer for answer in answers if answer.forked]
    return PageSource(
        [_with_image(answer.page_tokens(answer.page_id)) for answer in plain or forked],
        [_with_image(answer.page_tokens(answer.page_id)) for answer in forked or plain],
        f"{about}, {len(plain or forked)} pages",
        estimated,
    )


def _run_pages(folder: Path, count: int | None) -> PageSource:
    """A finished run's pages; regions of markdown without boxes are its paragraphs, with an assumed layout stream."""
    sequential, branching, guessed = [], [], False
    for _, row in read_rows(folder / "infer" / "requests.jsonl"):
        tokens = row.get("tokens") or {}
        if not row.get("text") or not tokens.get("output"):
            continue
        answer = RecordedAnswer(str(row["page_id"]), row["text"], tokens.get("input") or 0, tokens["output"])
        page = _with_image(answer.page_tokens(answer.page_id))
        sequential.append(page)
        if "<BLOCK>" in answer.text:
            branching.append(page)
        else:
            guessed = True
            branching.append(replace(page, blocks=_paragraphs(answer)))
    if not sequential:
        raise UserError(f"{folder}: the run has no answers with token counts in infer/requests.jsonl")
    about = f"run {folder.name}, {len(sequential[:count])} pages"
    return PageSource(sequential[:count], branching[:count], about, guessed)


def _paragraphs(answer: RecordedAnswer) -> tuple[BlockTokens, ...]:
    blocks = []
    spent, position = 0, 0
    for part in _PARAGRAPH.split(answer.text):
        position += len(part)
        reached = answer.output_tokens * position // max(len(answer.text), 1)
        kind = (
            Content.TABLE if "<table" in part else Content.FORMULA if part.startswith(("$$", "\\[")) else Content.TEXT
        )
        if reached > spent:
            blocks.append(BlockTokens(ASSUMED_LAYOUT_TOKENS, reached - spent, kind))
        spent = max(reached, spent)
    return tuple(blocks)


def _with_image(page: PageTokens) -> PageTokens:
    return replace(page, image_patches=page.input_tokens * PATCHES_PER_TOKEN, closing=max(page.closing, 1))
