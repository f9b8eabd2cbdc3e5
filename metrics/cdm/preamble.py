"""The LaTeX around formulas: the three preambles, a document for one formula, and a document for a batch.

Which class, packages, order and sizes are used decides where every glyph lies, so they are those of the
official templates (OmniDocBench 1.6, `src/metrics/cdm/modules/latex2bbox_color.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from metrics.cdm.formula import Kind

LARGEST_PAPER = 1  # A1; a formula that is too wide is tried on larger paper up to this one

_PACKAGES = {
    Kind.PLAIN: ("booktabs", "amsmath", "upright", "amssymb", "xcolor"),
    Kind.CHINESE: ("booktabs", "amsmath", "upright", "CJK", "amssymb", "xcolor"),
    Kind.TABULAR: ("booktabs", "rows", "amssymb", "upright", "amsmath", "xcolor"),
}
_OWN_FILES = frozenset({"upright", "rows"})
_CJK_FONT = "gkai"

# \textcolor in one plain group, as the official templates redefine it once the document has begun.
_TEXT_COLOUR = (
    r"\makeatletter\renewcommand*\@textcolor[3]{\protect\leavevmode\begingroup\color#1{#2}#3\endgroup}\makeatother"
)
_MARKS = r"""
\makeatletter
\def\evalkitlog#1#2{\immediate\write\m@ne{evalkit-#1 #2 \the\currentgrouplevel\space\number\ReadonlyShipoutCounter}}
\def\evalkitopen#1{\evalkitlog{open}{#1}\pdfcolorstack0 set{0 g 0 G}}
\def\evalkitclose#1{\evalkitlog{set}{#1}\clearpage\evalkitlog{close}{#1}}
\let\evalkitinput\@@input
\makeatother
"""

# Words that reach beyond the formula they stand in; such a formula is typeset in a run of its own.
_FAR_WORDS = (
    r"input|include|openin|openout|closein|closeout|read|readline|write|immediate|special|shipout|output|message|errmessage"
    r"|every\w+|[gex]?def|let|futurelet|global|globaldefs|long|outer|protected|\w*code|\w+char|csname|endcsname|expandafter"
    r"|scantokens|aftergroup|afterassignment|loop|repeat|\w*newcommand|providecommand|Declare\w+|\w*newenvironment"
    r"|new[a-z]+|document|enddocument|endinput|stop|dump|\w+mode|pdf\w+|font|mag|[hv]size|[hv]offset|\w+width|\w+height"
    r"|setlength|addtolength|setcounter|stepcounter|addtocounter|refstepcounter|insert|vadjust|mark|newpage|clearpage"
    r"|cleardoublepage|pagebreak|footnote\w*|marginpar|begingroup|endgroup|bgroup|egroup|setbox|copy|box|un[hv]\w+|lastbox"
    r"|[hv]align|noalign|omit|span|if(?!f\b)\w*|else|fi|or|par|relpenalty|tracing\w+|show\w*|selectfont|pagestyle"
    r"|thispagestyle|CJK\w*|makeatletter|makeatother|verb|verbatim|lstlisting|comment|tabular[*x]|longtable"
)
_FAR_REACHING = re.compile(rf"\^\^|\\(?:{_FAR_WORDS})(?![A-Za-z])|\\(?:begin|end)\s*\{{\s*(?:{_FAR_WORDS})\s*\}}")


def is_far_reaching(latex: str) -> bool:
    """True for LaTeX that could change what is typeset after it."""
    return _FAR_REACHING.search(latex) is not None


def preamble(kind: Kind) -> str:
    """All before `\\begin{document}` but the paper size; what a format is dumped from."""
    lines = [
        r"\documentclass[12pt]{article}",
        r"\usepackage[landscape]{geometry}",
        r"\pagestyle{empty}",
    ]
    for name in _PACKAGES[kind]:
        own = files("metrics.cdm").joinpath("tex", f"{name}.tex") if name in _OWN_FILES else None
        lines.append(own.read_text(encoding="utf-8") if own else rf"\usepackage{{{name}}}")
    lines += [r"\pdfcompresslevel=0 \pdfobjcompresslevel=0", _MARKS]
    return "\n".join(lines)


def single_document(kind: Kind, paper: int, latex: str) -> str:
    """A document with one formula, for the dumped format."""
    return "\n".join([_start(paper), *_display(kind, latex), r"\end{document}", ""])


def batch_document(kind: Kind, paper: int, names: Sequence[str]) -> str:
    """A document with one page a formula, each in a file of its own; the log tells where each begins and ends."""
    lines = [_start(paper)]
    for name in names:
        lines += [
            rf"\evalkitopen{{{name}}}",
            *_display(kind, rf"\evalkitinput {name}.tex"),
            rf"\evalkitclose{{{name}}}",
        ]
    return "\n".join([*lines, r"\end{document}", ""])


def _start(paper: int) -> str:
    return rf"\geometry{{a{paper}paper,scale=0.98}}" + "\n" + r"\begin{document}" + "\n" + _TEXT_COLOUR


def _display(kind: Kind, latex: str) -> list[str]:
    lines = [r"\begin{displaymath}", latex, r"\end{displaymath}"]
    if kind is Kind.CHINESE:
        return [rf"\begin{{CJK}}{{UTF8}}{{{_CJK_FONT}}}", *lines, r"\end{CJK}"]
    return lines


def text_size(paper: int) -> tuple[float, float]:
    """Width and height of the text area in TeX points: 98 % of ISO A paper, landscape."""
    short_mm, long_mm = 841.0, 1189.0
    for _ in range(paper):
        short_mm, long_mm = long_mm // 2, short_mm
    per_mm = 72.27 / 25.4 * 0.98
    return long_mm * per_mm, short_mm * per_mm
