"""HTML trees: what broken markup becomes, whatever Python runs, and that no markup takes long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.protocols.omnidocbench_v16.normalize.html_reading import Reading
from evalkit.protocols.omnidocbench_v16.normalize.html_tree import parse_html, serialize

# Values of html.parser of Python 3.11.7 with Beautiful Soup 4.11.1.
MARKUP = [
    ("nested cell", "<td>a<td>b", "<td>a<td>b</td></td>"),
    ("stray end tag", "a</p>b", "ab"),
    ("end tag closes what is inside", "<p><b>x</p>y", "<p><b>x</b></p>y"),
    ("void element", "<br>a<br/>b</br>c", "<br/>a<br>b</br>c"),
    ("attributes sorted and quoted", "<a z=1 b='\"' z=2 class=' x  y '>", '<a b=\'"\' class="x y" z="2"></a>'),
    ("encoding", "<meta charset=gbk class=' a  b '>", '<meta charset="utf-8" class="a b"/>'),
    (
        "encoding in a content type",
        "<meta content='text/html; charset=gbk; x' http-equiv=Content-Type>",
        '<meta content="text/html; charset=utf-8; x" http-equiv="Content-Type"/>',
    ),
    ("other meta data", "<meta content='a;charset=b' name=c>", '<meta content="a;charset=b" name="c"/>'),
    ("both quotes", '<a b="\'&quot;">', '<a b="\'&quot;"></a>'),
    ("named references", "&amp;&lt;&copy;&copy &nosuch; &", "&amp;&lt;©© &amp;nosuch &amp;"),
    ("numeric references", "&#65;&#x42;&#128;&#0;&#x110000;x", "AB€\x00\N{REPLACEMENT CHARACTER}x"),
    ("reference cut at the end", "a&b", "ab"),
    ("two bad numeric references", "&#;<b>&#;<b>", "&amp;#;<b>&amp;#;&lt;b&gt;</b>"),
    ("comment", "<!--x--><!-- --><!---->", "<!--x--><!-- --><!-- -->"),
    ("comment that never closes", "<b><!--x</b>", "<b>&lt;!--x&lt;/b&gt;</b>"),
    ("declarations", "<!DOCTYPE html><![CDATA[a]]><?pi ?><!x>", "<!DOCTYPE html>\n<![CDATA[a]]><?pi ?><!--x-->"),
    ("script", "<script>a<b</script><i>", "<script>a<b</script><i></i>"),
    ("script that never closes", "<script>a<b", "<script></script>"),
    ("white space", "<b> \t</b><pre> \t</pre><b>\n \n</b>", "<b> </b><pre> \t</pre><b>\n</b>"),
    ("tag without an end", "a<b c", "a&lt;b c"),
    ("lone less-than", "1 < 2 <", "1 &lt; 2 &lt;"),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in MARKUP], ids=[row[0] for row in MARKUP])
def test_markup(text: str, expected: str) -> None:
    assert serialize(parse_html(text).root) == expected


def test_renaming_unwrapping_and_replacing() -> None:
    root = parse_html("<tbody><th a=1>x<i><u>y</u></i></th></tbody>").root
    replaced = serialize(
        root,
        rename={"th": "td"},
        unwrap=("tbody",),
        replace=lambda element: "<z>" if element.name == "i" else None,
    )
    assert replaced == '<td a="1">x&lt;z&gt;</td>'


@pytest.mark.parametrize(("text", "malformed"), [("<![CDATA[x]]>", False), ("<![x]>", True), ("<!x>", False)])
def test_what_the_official_parser_refuses(text: str, malformed: bool) -> None:
    assert parse_html(text).malformed is malformed


def test_reading_cells_inside_rows() -> None:
    reading = Reading(parse_html("<tr><td> a <td>b</td></td></tr><tr></tr><td>c<!--d--></td>").root)
    rows = reading.spans_of("tr")
    assert [[reading.text(cell) for cell in reading.inside(row, "td")] for row in rows] == [["a b", "b"], []]
    assert [reading.short_text(cell, 2) for cell in reading.spans_of("th", "td")] == [None, "b", "c"]
    assert reading.text(reading.whole) == "a b c"


@pytest.mark.parametrize(
    "unit",
    [
        "<td>",
        "<br>",
        "</td>",
        "<",
        "<a ",
        "<a b='",
        "<!--",
        "<![CDATA[",
        "<?",
        "&#",
        "&a",
        "<td>x</td>",
        "<tr><td>",
        "</",
    ],
)
def test_endless_repetition_ends_soon(unit: str) -> None:
    root = parse_html(unit * 8_000).root
    assert isinstance(serialize(root), str)
    assert isinstance(Reading(root).spans_of("td"), list)


PIECES = ["<td>", "</td>", "<b c=d>", "</b>", "x", "&amp;", "&", "<", ">", "<!--x-->", "<i>", "</i>"]


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_what_is_written_reads_the_same(pieces: list[str]) -> None:
    once = serialize(parse_html("".join(pieces)).root)
    assert serialize(parse_html(once).root) == once
