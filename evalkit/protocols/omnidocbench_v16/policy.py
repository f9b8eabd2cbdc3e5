"""The numbers and switches of the protocol in one frozen record, one section for each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class LatexTables(StrEnum):
    """What turns a LaTeX table into HTML.

    AUTO is latexmlc where it is on PATH, else BUILTIN. OFF leaves LaTeX tables unconverted, which is what
    the official scorer does where latexmlc is missing.
    """

    AUTO = "auto"
    LATEXMLC = "latexmlc"
    BUILTIN = "builtin"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class NormalizePolicy:
    """Numbers of the normalisers.

    Source: src/core/preprocess/{data_preprocess,text_postprocess}.py.
    """

    inline_formula_chars: int = 128
    """Longer inline formulas stay as they are in a text."""
    latex_chars: int = 8000
    """Longer LaTeX is not converted to text (official OMNIDOCBENCH_MAX_LATEX_INPUT_LEN)."""
    prose_chars: int = 32
    """Shorter formulas are never taken for prose."""
    prose_words: int = 6
    prose_blanks: int = 5
    prose_latex_signs: int = 2
    """Prose has at least so many words and blanks, and at most so many signs of LaTeX."""
    weak_words: tuple[int, int] = (2, 4)
    weak_commands: tuple[int, int] = (0, 1)
    weak_math_signs: tuple[int, int] = (1, 2)
    """LaTeX is weak with at least so many words and at most so many commands and signs, by either triple."""
    latex_tokens: tuple[int, int] = (500, 12)
    """Tokens that the LaTeX parser may read, at least and for each character, before it starts again and remembers."""
    latex_tokens_remembering: tuple[int, int] = (20_000, 400)
    """The same for the parser that remembers; past that the LaTeX stays as it is."""
    accented_chars: int = 20_000
    """Characters that accents on accents may write; past that the LaTeX stays as it is."""
    table_line_chars: tuple[int, int] = (200_000, 20)
    """Characters of cell text, at least and for each one of the table, that are read; nested cells repeat theirs."""
    brace_content_chars: int = 160
    """Longer brace groups are not opened by the formula normaliser's content rule."""
    table_math_chars: int = 128
    """Longer formulas in table cells keep their delimiters."""
    latex_tables: LatexTables = LatexTables.AUTO
    latexmlc_timeout_s: float = 600.0
    """A hung latexmlc is ended after this time; the table then counts as unconverted and says so."""


@dataclass(frozen=True, slots=True)
class ExtractPolicy:
    """Numbers of the markdown extraction.

    Source: src/core/preprocess/extract.py.
    """

    formula_like_chars: int = 220
    """Longer text is never a candidate formula."""
    wrapped_prose_chars: int = 18
    """Text with a formula in delimiters and a sign is a candidate with at most so many characters of prose."""
    blank_box_words: int = 1
    blank_box_chars: int = 80
    """Text with an empty box and a sign is a candidate with at most so many words and characters."""
    reaction_cjk: int = 24
    reaction_chars: int = 120
    """Text with an arrow is a candidate with at most so many CJK characters and characters."""
    arithmetic_signs: int = 2
    arithmetic_digits: int = 1
    arithmetic_words: int = 2
    arithmetic_cjk: int = 12
    arithmetic_chars: int = 100
    """Text with at least so many signs and digits is one with at most so many words, CJK characters and characters."""
    symbolic_signs: int = 3
    symbolic_cjk: int = 18
    symbolic_chars: int = 80
    """Text with at least so many signs and no word is one with at most so many CJK characters and characters."""
    caption_letters: int = 10
    caption_words: int = 2
    caption_math: int = 6
    """What stands behind a formula is a caption with at least so many letters and words, at most so much math."""
    wordless_caption_letters: int = 14
    wordless_caption_math: int = 3
    """It is one too with at least so many letters, at most so much math, and no digit."""
    fewest_table_rows: int = 2
    """With fewer rows on a page, bars are text."""
    table_formula_chars: int = 120
    """Longer table cells are never candidate formulas."""
    compound_segment_chars: int = 160
    """Longer segments keep a compound display formula in one piece."""
    short_inline_chars: int = 24
    """Longer inline formulas are always scored as formulas."""
    image_description_chars: int = 24
    """Shorter blocks are never taken for an image description."""


@dataclass(frozen=True, slots=True)
class TextSpanPolicy:
    """Numbers of the second look for badly matched titles and paragraphs.

    Source: src/dataset/end2end_dataset.py.
    """

    bad_edit: float = 0.45
    """A pair at or under this distance is left alone."""
    long_paragraph_chars: int = 80
    """Shorter paragraphs without math are left alone."""
    reach: int = 8
    """Pieces searched before and after what the pair has."""
    pieces: int = 4
    pieces_with_math: int = 8
    """Most pieces that a replacement may join."""
    max_edit: float = 0.35
    max_edit_with_math: float = 0.45
    """A replacement at a larger distance is refused."""
    min_gain: float = 0.2
    """A replacement must be nearer by this much."""
    tie_tolerance: float = 1e-12
    margin: float = 1e-9
    """Runs farther than the limit by more than this cannot win and are not compared."""


@dataclass(frozen=True, slots=True)
class FormulaPolicy:
    """Numbers of the formula matching.

    Source: src/dataset/end2end_dataset.py.
    """

    join: int = 10
    join_wide: int = 12
    """Most predicted formulas read as one, the second where the counts of both sides differ."""
    wide_join_difference: int = 2
    gap_span: int = 2
    """Places that a run with gaps may reach beyond one without."""
    one_skip_count: int = 4
    two_skips_difference: int = 3
    partition_rows: int = 8
    """Formulas of more rows are not partitioned."""
    partition_count: int = 128
    """With more partitions of a page, none is tried."""
    same_edit_digits: int = 6
    tie_tolerance: float = 1e-12
    full_matrix_size: int = 3000
    """Formulas of both sides together, above which the assignment is solved without the columns for leaving out."""
    alignment_budget: int = 4_000_000
    """Comparisons of an annotated formula with a run of predicted ones, above which the alignment is not tried."""


@dataclass(frozen=True, slots=True)
class ScorePolicy:
    """Where the official's clock stops a table: TEDS takes it a time that grows with the product of both trees."""

    official_teds_limit_s: float = 120.0
    official_teds_pair_s: float = 29e-6
    """For each pair of nodes, content and structure together (measured)."""


@dataclass(frozen=True, slots=True)
class LoopPolicy:
    """When a prediction is said to end in a decoding loop. Counted beside the scores, never part of them."""

    tail_chars: int = 4000
    loop_chars: int = 200
    repetitions: int = 8


@dataclass(frozen=True, slots=True)
class MatchPolicy:
    """Numbers of the matching of a page's blocks.

    Source: src/core/matching/match_quick.py.
    """

    close_edit: float = 0.25
    """Below this normalised edit a block and a piece are taken to be the same."""
    run_pieces: int = 160
    """Most predicted pieces that are joined to one block."""
    piece_in_block_edit: float = 0.6
    """A piece belongs to a run when some stretch of the block, of its length, is closer than this."""
    unmatched_edit: float = 0.7
    """Above this an assigned pair counts as unmatched."""
    block_in_piece_edit: float = 0.4
    """An unmatched block is contained in a piece of which some stretch, of its length, is closer than this."""
    nested_characters: int = 4_000_000
    """A formula whose nested environments have more characters, counted at each level, keeps its braces."""
    official_join_limit_s: float = 300.0
    """The official time limit for joining pieces; above it another matching takes over there."""
    official_page_limit_s: float = 420.0
    """The official time limit for matching a page."""
    official_call_s: float = 3e-7
    """The official's time for one distance of short texts, Python included (measured; the magnitude counts)."""
    official_cell_s: float = 4e-11
    """The official's further time for each pair of characters compared (measured with it)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """All numbers of the protocol."""

    normalize: NormalizePolicy = field(default_factory=NormalizePolicy)
    extract: ExtractPolicy = field(default_factory=ExtractPolicy)
    match: MatchPolicy = field(default_factory=MatchPolicy)
    text_span: TextSpanPolicy = field(default_factory=TextSpanPolicy)
    formula: FormulaPolicy = field(default_factory=FormulaPolicy)
    score: ScorePolicy = field(default_factory=ScorePolicy)
    loop: LoopPolicy = field(default_factory=LoopPolicy)


POLICY = Policy()
