"""Tables: normalising, LaTeX backends, lines of text, and the research data's goldens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.protocols.omnidocbench_v16.normalize.latex_backend import latex_table_backend
from evalkit.protocols.omnidocbench_v16.normalize.latexmlc import run_latexmlc
from evalkit.protocols.omnidocbench_v16.normalize.table import normalize_html_table, normalize_table
from evalkit.protocols.omnidocbench_v16.normalize.table_lines import table_to_text_lines
from evalkit.protocols.omnidocbench_v16.policy import LatexTables

BEFORE, AFTER = '<html><body><table border="1" >', "</table></body></html>"
LATEX = r"\begin{tabular}{ll} a & b \\ \end{tabular}"


@pytest.mark.parametrize(
    ("table", "inner"),
    [
        ("<table><tr><th>a</th></tr></table>", "<tr><td>a</td></tr>"),
        ("<table><tr><td>a<!-- c --></td></tr></table>", "<tr><td>ac</td></tr>"),
        ("<table><tr><td>&lt;td&gt;x&lt;/td&gt;</td></tr></table>", "<tr><td><td>x</td></td></tr>"),
        ('<table><tr><td class="a" colspan="2">½</td></tr></table>', '<tr><td colspan="2">1⁄2</td></tr>'),
        ('<table><td><math alttext="x"><mi>y</mi></math></td></table>', "<td>x</td>"),
        ("<table><td>a</td></table><p>b</p><table><td>c</td></table>", "<td>a</td></table>b<table><td>c</td>"),
    ],
)
def test_html_tables(table: str, inner: str) -> None:
    assert normalize_html_table(table) == BEFORE + inner + AFTER


@pytest.mark.parametrize("text", ["", "no table", "<TABLE><tr><td>a</td></tr></TABLE>"])
def test_no_table(text: str) -> None:
    assert normalize_html_table(text) == ""


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        ("<table><tr><td>a b</td><td></td><td>c</td></tr><tr><td> </td></tr></table>", ["ab c"]),
        ("<table><td>a</td><td>b</td></table>", ["a", "b"]),
        ("<table>a - b</table>", ["a—b"]),
        ("no table", []),
    ],
)
def test_lines(table: str, lines: list[str]) -> None:
    assert table_to_text_lines(table) == lines


@pytest.mark.parametrize("unit", ["<table><tr><td>x", "<tr><td>x</td></tr>", "<td", "<table ", "<span>", ' style="'])
def test_endless_repetition_ends_soon(unit: str) -> None:
    text = "<table>" + unit * 1_500
    assert isinstance(normalize_html_table(text), str)
    assert isinstance(table_to_text_lines(text), list)


def fake_latexmlc(folder: Path, monkeypatch: pytest.MonkeyPatch, page: str, exit_code: int) -> None:
    program = folder / "latexmlc"
    program.write_text(
        f"#!/bin/sh\nfor last; do :; done\ncat > \"${{last#--dest=}}\" <<'END'\n{page}\nEND\nexit {exit_code}\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    run_latexmlc.cache_clear()


def test_latexmlc_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_latexmlc(tmp_path, monkeypatch, '<body><table class="t"><tr><td>q</td></tr></table></body>', 0)
    assert latex_table_backend() == "latexmlc"
    assert normalize_table(LATEX, "latex") == BEFORE + "<tr><td>q</td></tr>" + AFTER


@pytest.mark.parametrize(("page", "exit_code"), [("<table><tr></tr></table>", 1), ("no table", 0), ("<table><tr>", 0)])
def test_latexmlc_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, exit_code: int) -> None:
    fake_latexmlc(tmp_path, monkeypatch, page, exit_code)
    assert normalize_table(LATEX, "latex", LatexTables.LATEXMLC) == ""


def test_backends_without_latexmlc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    run_latexmlc.cache_clear()
    assert [latex_table_backend(choice) for choice in LatexTables] == ["builtin", "latexmlc", "builtin", "off"]
    assert normalize_table(LATEX, "latex", LatexTables.OFF) == ""
    assert normalize_table(LATEX, "latex", LatexTables.LATEXMLC) == ""
    assert normalize_table(LATEX, "latex") == BEFORE + "<tr><td>a</td><td>b</td></tr>" + AFTER


@pytest.mark.shared
def test_goldens(shared: Path) -> None:
    """Rows of the kinds `raw_*` are there to be scored as they are."""
    rows = map(json.loads, (shared / "golden/teds/pairs.jsonl").read_text(encoding="utf-8").splitlines())
    compared = 0
    for row in rows:
        for side in ("gt", "pred"):
            raw = row.get(f"raw_{side}")
            if raw is not None and not row["kind"].startswith("raw_"):
                assert normalize_html_table(raw) == row[f"{side}_html"]
                compared += 1
    assert compared == 1576
