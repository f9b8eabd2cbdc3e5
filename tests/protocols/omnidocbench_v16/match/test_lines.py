"""Which items become lines, and which facts the lines show."""

from __future__ import annotations

from evalkit.protocols.omnidocbench_v16.match.lines import gt_lines, pred_lines
from evalkit.protocols.omnidocbench_v16.records import GtItem, PredItem
from tests.protocols.omnidocbench_v16.match.pages import pieces, texts


def test_text_and_formulas_are_normalised_by_kind() -> None:
    lines = gt_lines([*texts("A b."), GtItem("equation_isolated", "$$ x + y $$", 2)])
    assert lines.norms == ("Ab", "x+y")
    assert lines.texts == ("A b.", "$$ x + y $$")
    assert lines.categories == ("text_block", "equation_isolated")


def test_other_categories_give_no_line() -> None:
    assert gt_lines(texts("a picture", category="figure")).norms == ()


def test_code_is_compared_as_it_is() -> None:
    assert pred_lines(pieces("  x = 1", category="code_txt")).norms == ("  x = 1",)


def test_after_an_empty_item_lines_show_their_predecessors_facts() -> None:
    first = GtItem("text_block", " ", 5, {"language": "en"})
    second = GtItem("title", "A", 6, {"language": "zh"})
    lines = gt_lines([first, second])
    assert (lines.categories[0], lines.position(0), lines.attributes(0)) == ("title", 5, {"language": "en"})
    preds = pred_lines(
        [PredItem("text_all", "", (3, 3), "text_block"), PredItem("text_all", "A", (4, 5), "table_to_text")]
    )
    assert (preds.norms, preds.position(0), preds.category(0)) == (("A",), 3, "text_block")


def test_the_position_zero_is_no_position() -> None:
    assert gt_lines([GtItem("text_block", "A", 0)]).position(0) is None


def test_a_piece_without_finding_shows_its_pool() -> None:
    assert pred_lines(pieces("A", fine_category=None)).category(0) == "text_all"
