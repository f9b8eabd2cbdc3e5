"""Whatever a parser writes, a page is scored, within bounds, and the same way twice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.protocols.omnidocbench_v16.gt_items import GtPage
from evalkit.protocols.omnidocbench_v16.records import GtItem
from evalkit.protocols.omnidocbench_v16.score import score_page

TOKENS = [
    *(
        "$",
        "$$",
        "\\[",
        "\\]",
        "\\(",
        "\\)",
        "```",
        "`",
        "|",
        "---",
        "\n",
        "\n\n",
        "#",
        " ",
        "{",
        "}",
        "&",
        "\\\\",
        "<",
        ">",
    ),
    *("<table>", "</table>", "<tr>", "<td>", "</td>", '<td colspan="x">', "<!--", "-->", "![", "](a.png)", "<img"),
    *("\\begin{tabular}{c}", "\\end{tabular}", "\\begin{aligned}", "\\end{aligned}", "\\begin{cases}", "\\tag{1}"),
    *("a", "words of a page", "营业收入", "x=1", "\\frac{a}{b}", "\x00", "\ud800", "\u202e", "①", "_____", "<div>"),
]
FORMULAS = (GtItem("equation_isolated", "$$\\begin{aligned} a&=b \\\\ c&=d \\end{aligned}$$", 3),)
PAGE = GtPage(
    (GtItem("text_block", "words of a page, some of them", 1), GtItem("title", "营业收入", 2), *FORMULAS),
    FORMULAS,
    (GtItem("table", "<table><tr><td>a</td><td>1</td></tr></table>", 4),),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join))
def test_any_markdown_is_scored(markdown: str) -> None:
    result = score_page(PAGE, "p", markdown)
    assert result == score_page(PAGE, "p", markdown)
    for scored in result.pairs:
        for name, score in scored.scores.items():
            assert score.value is None or score.value <= 1.0, name
            assert score.value is None or score.value >= 0.0 or name.startswith("table_teds"), name
    assert all(count >= 0 for count in result.counts.values())
