"""Whether this machine's libxml2 reads malformed tables the way the official scores were made."""

from __future__ import annotations

from lxml import etree

from evalkit.types import DoctorCheck
from metrics.teds.tree import parse_table

# Malformed table -> its nodes in postorder (tag, spans, content) as libxml2 2.9.14 gives them.
EXPECTED: tuple[tuple[str, str], ...] = (
    ("<tr><td>a<td>b<tr><td>c", "td:a td:b tr td:c tr table"),
    ("<tr><td><b>a<td>b</b></td></tr>", "td:<b>a</b> td:b tr table"),
    ("<td>a</td><tr><td>b</td></tr>", "td:a td:b tr table"),
    ("<tr><td>a < b & c &amp; &foo;</td></tr>", "td:a < b & c & &foo; tr table"),
    ("<tr><td>a<![CDATA[x]]>b</td></tr>", "td:a<![CDATA[x]]>b tr table"),
    ("<tr><td>a<!-->b</td><td>c--></td></tr>", "td:a tr table"),
    ("<tr><td>a<br/ >b<3</td></TR x>", "td:a<br></br>b<3 tr table"),
    ("<tr><td>a</ td>b</td></tr>", "td:a td>b tr table"),
    (
        "<tr><td>a</td2>b<table><tr><td>c</td></tr></table></td></tr>",
        "td:ab<table><tr><td>c</td></tr></table> tr table",
    ),
)


def check_libxml2() -> list[DoctorCheck]:
    """One finding: ok, or broken with the first table that is read differently."""
    version = f"lxml {_dotted(etree.LXML_VERSION[:3])}, libxml2 {_dotted(etree.LIBXML_VERSION)}"
    for rows, expected in EXPECTED:
        found = describe(rows)
        if found != expected:
            message = f"{version} reads {rows!r} as {found!r}, the official scores have {expected!r}"
            return [DoctorCheck("libxml2", "broken", message, "pip install 'lxml>=5.2,<6'")]
    return [DoctorCheck("libxml2", "ok", f"{version} reads malformed tables as the official scorer")]


def describe(rows: str) -> str:
    """The tree of a table with these rows, in postorder, as one line."""
    try:
        tree = parse_table(f"<html><body><table>{rows}</table></body></html>")
    except ValueError as error:
        return str(error)
    return " ".join(
        f"td:{''.join(text)}" if kind[0] == "td" else kind[0] for kind, text in zip(tree.kinds, tree.texts, strict=True)
    )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
