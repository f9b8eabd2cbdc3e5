"""Where a limit on work is met, the page and each of its pairs say which; nothing else does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.protocols.omnidocbench_v16.formula_rows import logic_braces
from evalkit.protocols.omnidocbench_v16.gt_items import gt_page
from evalkit.protocols.omnidocbench_v16.normalize import html_reading, latexmlc
from evalkit.protocols.omnidocbench_v16.policy import POLICY, LatexTables
from evalkit.protocols.omnidocbench_v16.score import score_page
from evalkit.protocols.result import PageResult
from evalkit.types import Block, GroundTruth, Page

TEXT = Block(kind="text_block", text="some words of a page", order=1)
FORMULA = Block(kind="equation_isolated", latex="$$x = 1$$", order=2)
TABLE = Block(kind="table", html="<table><tr><td>a</td></tr></table>", order=3)
CASES = r"\begin{cases} a \\ \forall b \end{cases}"


def score(markdown: str, *blocks: Block, latex_tables: LatexTables = LatexTables.BUILTIN) -> PageResult:
    truth = GroundTruth(page=Page(page_id="p.png", stem="p"), blocks=blocks)
    return score_page(gt_page(truth), "p.png", markdown, latex_tables=latex_tables)


def lowered(monkeypatch: pytest.MonkeyPatch, module: Any, group: str, **limits: Any) -> None:
    monkeypatch.setattr(module, "POLICY", replace(POLICY, **{group: replace(getattr(POLICY, group), **limits)}))


def assert_limited(result: PageResult, name: str) -> None:
    assert result.counts["work_limited_pages"] == 1
    assert result.notes == (f"limits on work were met: {name}",)
    assert result.pairs
    assert {tuple(scored.pair.details["work_limits"]) for scored in result.pairs} == {(name,)}


def test_accents_on_accents() -> None:
    markdown = r"some words of a $" + r"\hat{" * 20 + "x" + "}" * 20 + "$ page"
    assert_limited(score(markdown, TEXT), "latex_text")
    assert_limited(score(markdown, TEXT), "latex_text")  # also when the conversion is remembered


def test_nested_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, logic_braces, "match", nested_characters=10)
    assert_limited(score(f"$${CASES}$$", FORMULA), "logic_braces")


def test_cells_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, html_reading, "normalize", table_line_chars=(1, 0))
    spare = "<table><tr><td>some words</td><td>of a page</td></tr></table>"
    assert_limited(score(f"{TABLE.html}\n\n{spare}", TABLE, TEXT), "table_text")


def test_a_latexmlc_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "latexmlc"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    latexmlc.run_latexmlc.cache_clear()
    lowered(monkeypatch, latexmlc, "normalize", latexmlc_timeout_s=0.1)
    markdown = "\\begin{tabular}{c} a & b \\\\ c & d \\end{tabular}"
    for _ in range(2):
        assert_limited(score(markdown, TABLE, latex_tables=LatexTables.LATEXMLC), "latexmlc")
    latexmlc.run_latexmlc.cache_clear()


def test_an_ordinary_page_meets_none() -> None:
    result = score(f"some words\n\n$${CASES}$$\n\n{TABLE.html}", TEXT, FORMULA, TABLE)
    assert (result.counts["work_limited_pages"], result.notes) == (0, ())
    assert not any("work_limits" in scored.pair.details for scored in result.pairs)
