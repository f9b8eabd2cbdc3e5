"""The LaTeX names that CDM treats specially, by what is done with them.

Origin: the behaviour of the OmniDocBench CDM scorer, version 1.6 (`src/metrics/cdm`). Which name falls
in which class decides what is a token, so these sets are data that must not be tidied.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- reading: what the parser's nodes become ---

OPERATOR_NAMES = _names(
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf injlim ker lg lim liminf limsup ln log"
    " max min Pr projlim sec sin sinh sup tan tanh"
)
LIMIT_OPERATORS = _names("det gcd inf lim liminf limsup max min Pr sup")
SPELT_OPERATORS = LIMIT_OPERATORS | {"arccos", "tanh"}
FONTS = _names("mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr mbox hbox")
ROMAN_FONTS = frozenset({"mathrm", "mbox", "hbox"})
ACCENTS = _names("hat bar vec dot ddot tilde breve check acute grave")
WIDE_ACCENTS = frozenset({"widetilde", "widehat"})
FRACTIONS = frozenset({"frac", "tfrac", "dfrac", "binom"})
DELIMITED_ENVIRONMENTS = {
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": (r"\{", r"\}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": (r"\Vert", r"\Vert"),
    "cases": (r"\{", "."),
    "dcases": (r"\{", "."),
    "rcases": (".", r"\}"),
}
CASES = frozenset({"cases", "dcases", "rcases"})

# --- normalising: tokens that are spelt out ---

_DOTS = _names("… \\ldots \\hdots \\cdots \\dddot \\dots \\dotsc \\dotsi \\dotsm \\dotso \\dotsb \\mathellipsis")
_LETTERED = _names(
    "ex ln lg cot min max ker hom sec scs csc deg arg log dim exp sin cos tan tanh cosh sinh coth arcsin arccos arctan"
)
SPELT_OUT = (
    {"--": "- -", "---": "- - -"}
    | dict.fromkeys(_DOTS, ". . .")
    | {f"\\{name}": f"\\mathrm {{ {' '.join(name)} }}" for name in _LETTERED}
    | dict.fromkeys(("\\mod", "\\bmod", "\\pmod"), "\\mathrm { m o d }")
)

# --- colouring: what a token draws ---

FRACTION_TOKENS = frozenset({"\\frac", "\\binom"})
ROOT_TOKENS = frozenset({"\\xrightarrow", "\\xleftarrow", "\\sqrt"})
STACK_TOKENS = frozenset({"\\overset", "\\underset", "\\stackrel"})
ACCENT_TOKENS = _names(
    "\\widetilde \\overline \\hat \\widehat \\tilde \\Tilde \\dot \\bar \\vec \\underline \\underbrace \\check \\breve"
    " \\Bar \\Vec \\mathring \\ddot \\Ddot \\dddot \\ddddot"
)
STYLE_TOKENS = _names(
    "\\boldsymbol \\pmb \\textbf \\mathrm \\mathbf \\mathbb \\mathcal \\textmd \\texttt \\textnormal \\text \\textit"
    " \\textup \\mathop \\mathbin \\smash \\operatorname \\textrm \\mathfrak \\emph \\textsf \\textsc"
)
PHANTOM_TOKENS = _names("\\fontfamily \\vphantom \\phantom \\rowcolor \\ref \\thesubequation \\global \\theboldgroup")
SPAN_TOKENS = frozenset({"\\multicolumn", "\\multirow"})
UNDRAWN_TOKENS = STACK_TOKENS | _names(
    "\\ \\\\ \\index \\a & $ \\def \\edef \\raggedright \\url \\cr \\ensuremath \\left \\right \\mathchoice"
    " \\scriptstyle \\displaystyle \\qquad \\quad \\, \\! ~ \\boldmath \\gdef \\today \\the"
)
