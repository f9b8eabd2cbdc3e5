"""Markdown tables of a page, found row by row and put together as HTML tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalkit.protocols.omnidocbench_v16.extract.blanking import blank
from evalkit.protocols.omnidocbench_v16.extract.formula_candidates import table_formula_candidates
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, delimited_spans, remove_delimited
from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

_ANY_TABLE = (Delimiter("<table", "</table>"),)
_BARE_TABLE = (Delimiter("<table>", "</table>"),)
_COMMENT = (Delimiter("<!--", "-->"),)
_SECTION_TAG = re.compile(r"</?t(?:able|head|body)>")


def take_markdown_tables(text: str) -> tuple[str, list[PredItem]]:
    """Blank the markdown tables and give them as HTML items, with the formulas that fill cells as candidates.

    Source: extract.py, md_tex_filter.
    """
    if len(row_spans(text + "\n")) < POLICY.extract.fewest_table_rows:
        return text, []
    text = markdown_tables_to_html(text)
    items: list[PredItem] = []
    spans = [(span.start, span.end) for span in delimited_spans(text, _ANY_TABLE)]
    for start, end in spans:
        table = text[start:end]
        items.append(PredItem("html_table", table, (start, end), "md2html_table"))
        items += table_formula_candidates(table, start)
    return blank(text, spans), items


def markdown_tables_to_html(text: str) -> str:
    """The text with its markdown tables as HTML tables.

    Source: table_utils.py, convert_markdown_to_html.
    """
    text = text.replace("\r", "") + "\n"
    pieces: list[str] = []
    last_end = 0
    for start, end in row_spans(text):
        pieces += text[last_end:start], rows_to_html(text[start:end])
        last_end = end
    pieces.append(text[last_end:])
    text = join_row_tables("".join(pieces))
    return text.replace("<table>", '<table border="1" >').replace("<td>", '<td colspan="1" rowspan="1">')


@rule(stage="extract", order=30, example=r"'x | a\nb |\n' -> [(2, 10)]")
def row_spans(text: str) -> list[tuple[int, int]]:
    """Rows of markdown tables: from a bar to the next bar that ends a line.

    Source: extract.py, md_table_reg.
    Quirk: a bar in running text opens a row that reaches to the next line end with a bar.
    """
    spans: list[tuple[int, int]] = []
    start = text.find("|")
    while start >= 0:
        end = text.find("|\n", start + 1)
        if end < 0:
            break
        spans.append((start, end + 2))
        start = text.find("|", end + 2)
    return spans


@rule(stage="extract", order=31, example="| a | -> a table with a head row of one cell")
def rows_to_html(rows: str) -> str:
    """The lines of one row span as an HTML table: the first line is the head, the second is dropped.

    Source: table_utils.py, markdown_to_html.
    Quirk: cells are cut at every bar, an escaped one too; what stands before the first and behind the
    last bar of a line is dropped.
    """
    lines = [line.strip() for line in rows.strip().split("\n")]
    head = "".join(_cells(lines[0], "th"))
    body = "".join(f"    <tr>\n{''.join(_cells(line, 'td'))}    </tr>\n" for line in lines[2:])
    return f"<table>\n  <thead>\n    <tr>\n{head}    </tr>\n  </thead>\n  <tbody>\n{body}  </tbody>\n</table>\n"


def _cells(line: str, tag: str) -> Iterator[str]:
    return (f"      <{tag}>{cell.strip()}</{tag}>\n" for cell in line.split("|")[1:-1])


@rule(stage="extract", order=34, example="a table for each of two adjoining rows -> one table of two rows")
def join_row_tables(text: str) -> str:
    """Tables on adjoining lines become one table.

    Source: table_utils.py, replace_table_with_placeholder.
    Quirk: the line right before a table is lost when the table's first line follows at once, and the
    text gains an empty first line when it does not begin with a table.
    """
    kept: list[str] = []
    block: list[str] = []
    in_block = False
    last = ""
    for line in text.split("\n"):
        if "<table>" in line:
            in_block = True
            block.append(last)
        elif in_block:
            if not is_separator_line(last) and "</thead>" not in last:
                block += "\n", last
            if "</table>" in last:
                in_block = False
                kept.append(join_block("".join(block)))
                block = []
        else:
            kept.append(last)
        last = line
    if last and (in_block or "</table>" in last):
        kept.append(join_block("".join([*block, "\n", last])))
    elif last:
        kept.append(last)
    return "\n".join(kept)


@rule(stage="extract", order=32, example="'<td>12:30</td>' -> True")
def is_separator_line(line: str) -> bool:
    """Whether a line of a table block is taken for the line under the head, and dropped.

    Source: table_utils.py, find_md_table_mode.
    Quirk: a cell with a colon or three dashes is taken for one as well, and is lost.
    """
    return ":" in line or "---" in line


@rule(
    stage="extract",
    order=33,
    example=r"'<table>\n<tr>\n<th>a</th>\n</tr>\n</table>' -> '\n\n<table>\n<tr>\n<td>a</td>\n</tr>\n</table>\n\n'",
)
def join_block(block: str) -> str:
    """The tables of a block as one table, without comments, heads and tables of fewer than three lines.

    Source: table_utils.py, merge_tables.
    """
    block = remove_delimited(block, _COMMENT)
    lines: list[str] = []
    for span in delimited_spans(block, _BARE_TABLE):
        table = block[span.start : span.end].split("\n")
        rows = [_head_cell_as_cell(line) for line in table if not _SECTION_TAG.search(line)]
        if len(rows) > 2:
            lines += rows
    return "\n\n<table>\n" + "\n".join(lines) + "\n</table>\n\n"


def _head_cell_as_cell(line: str) -> str:
    if "<th>" not in line:
        return line
    return line.replace("<th>", "<td>").replace("</th>", "</td>")
