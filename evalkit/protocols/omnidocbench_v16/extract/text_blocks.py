"""Code and text of a page: what is left when formulas and tables are taken out."""

from __future__ import annotations

import re

from evalkit.protocols.omnidocbench_v16.extract.blanking import blank
from evalkit.protocols.omnidocbench_v16.extract.formula_candidates import formula_candidate
from evalkit.protocols.omnidocbench_v16.extract.html_fragments import html_fragment_to_text
from evalkit.protocols.omnidocbench_v16.normalize.delimiters import Delimiter, replace_delimited, unwrap_delimited
from evalkit.protocols.omnidocbench_v16.records import PredItem
from evalkit.protocols.omnidocbench_v16.rules import rule

_CODE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_TITLE_LINE = (Delimiter(r"\\title\{", "}", multiline=False),)
_TITLE = (Delimiter(r"\\title\s*\{", "}"),)
_TEXT = (Delimiter(r"\\text\s*\{", "}"),)
_SECTION_LINE = (Delimiter(r"\\section\*?\{", "}", multiline=False),)
_SECTION = (Delimiter(r"\\section\*?\{", "}"),)


@rule(stage="extract", order=35, example="```python x = 1``` on two lines -> the text item x = 1")
def take_code_blocks(text: str) -> tuple[str, list[PredItem]]:
    """Blank the fenced code blocks that name a language and give their code as text items.

    Source: extract.py, md_tex_filter.
    """
    items: list[PredItem] = []
    for found in _CODE.finditer(text):
        details = {"language": found.group(1)}
        items.append(PredItem("text_all", found.group(2).strip(), found.span(), "code", details))
    return blank(text, (item.position for item in items)), items


@rule(stage="extract", order=40, example=r"'\\section*{ One }\\text{two}' -> ' One two'")
def unwrap_headings(text: str) -> str:
    """\\title, \\section and \\text give way to what is in their braces, up to the first closing brace.

    Source: extract.py, md_tex_filter.
    Quirk: formulas that stay in the text lose their \\text as well.
    """
    text = unwrap_delimited(text, _TITLE_LINE)
    text = replace_delimited(text, _TITLE, str.strip)
    text = replace_delimited(text, _TEXT, str.strip)
    text = unwrap_delimited(text, _SECTION_LINE)
    return replace_delimited(text, _SECTION, str.strip)


@rule(stage="extract", order=44, example="two paragraphs -> two text_all items")
def text_items(text: str) -> list[PredItem]:
    """The paragraphs as text items, each followed by itself as a formula where it looks like one.

    Source: extract.py, md_tex_filter.
    Quirk: positions leave out the line feeds between paragraphs.
    """
    items: list[PredItem] = []
    start = 0
    for paragraph in split_paragraphs(text):
        position = (start, start + len(paragraph))
        start = position[1]
        content = html_fragment_to_text(strip_lines(paragraph)).strip()
        if content:
            items.append(PredItem("text_all", content, position, "text_block"))
            items += formula_candidate(content, position, "text_formula")
    return items


@rule(stage="extract", order=41, example=r"'a\nb' -> ['a', 'b']")
def split_paragraphs(text: str) -> list[str]:
    """Paragraphs, or the lines of a page without empty lines.

    Source: extract.py, md_tex_filter.
    """
    paragraphs = text.split("\n\n")
    return paragraphs if len(paragraphs) > 1 else text.split("\n")


@rule(stage="extract", order=42, example=r"'  a  \n   \n b' -> 'a\nb'")
def strip_lines(paragraph: str) -> str:
    """The lines of a paragraph without outer blanks and without blank lines.

    Source: extract.py, md_tex_filter.
    """
    return "\n".join(line.strip() for line in paragraph.strip().split("\n") if line.strip())
