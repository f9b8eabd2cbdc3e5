"""Emulated answers made from the truth: whole, counted by the plain rule, and the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.dataset import load_dataset
from evalkit.store import read_jsonl
from evalkit.token_rule import image_tokens, text_tokens, tile_grid
from evalkit.truth_streams import SCHEMA, VERSION, stream_row, write_truth_streams
from evalkit.types import Block, GroundTruth, Page


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("house", 1), ("houses", 2), ("12 a", 3), ("<BLOCK>text", 2), ("中文字", 2), ("中", 1), ("a\n\nb", 4)],
)
def test_text_tokens(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


# Source of the pairs: the preprocessing vectors of the HPD-Parsing model card.
@pytest.mark.parametrize(
    ("size", "grid"), [((514, 64), (8, 1)), ((760, 865), (2, 2)), ((248, 193), (5, 4)), ((720, 1150), (2, 3))]
)
def test_tile_grid_of_published_sizes(size: tuple[int, int], grid: tuple[int, int]) -> None:
    assert tile_grid(*size) == grid


def test_a_single_tile_has_no_thumbnail() -> None:
    columns, rows = tile_grid(760, 865)
    assert image_tokens(760, 865) == (columns * rows + 1) * 256


def test_a_page_becomes_a_block_stream_in_reading_order() -> None:
    page = Page("p.png", "p", width_px=1000, height_px=2000)
    blocks = (
        Block("text_block", text="see $x^2$ now", order=2, poly=(0, 200, 500, 200, 500, 400, 0, 400)),
        Block("figure", order=3, poly=(0, 500, 100, 500, 100, 600, 0, 600)),
        Block("title", text="Top", order=1, poly=(0, 0, 500, 0, 500, 100, 0, 100)),
        Block("equation_isolated", latex="$$\nE = 1\n$$", order=4),
        Block("abandon", text="never", order=None),
    )
    row = stream_row(GroundTruth(page, blocks), "00")
    assert row["fork"]["text"] == (
        "<BLOCK>title [0, 0, 500, 50]<CHILD># Top<BLOCK>text [0, 100, 500, 200]<CHILD>see \\(x^2\\) now"
        "<BLOCK>image [0, 250, 100, 300]<BLOCK>equation [0, 0, 1, 0]<CHILD>\\[\nE = 1\n\\]"
    )
    fork = row["fork"]
    contents = fork["content_tokens"]
    assert contents[2] is None
    assert fork["tokens"]["output"] == fork["layout_tokens"][-1] + 1 + sum(count or 0 for count in contents)


def test_streams_of_a_data_set_are_written_once_and_the_same(tmp_path: Path) -> None:
    dataset = load_dataset("mini")
    first = write_truth_streams(dataset, tmp_path / "a.jsonl").read_bytes()
    assert write_truth_streams(dataset, tmp_path / "b.jsonl").read_bytes() == first
    before = (tmp_path / "a.jsonl").stat().st_mtime_ns
    write_truth_streams(dataset, tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").stat().st_mtime_ns == before
    assert len(list(read_jsonl(tmp_path / "a.jsonl", SCHEMA, VERSION))) == len(dataset.pages)
