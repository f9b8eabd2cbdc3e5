"""Model output is hostile: whatever it holds, a report's pages run nothing, load nothing and stay whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree, html

from evalkit.stages.report import make_report
from reports.markup import POLICY
from tests.fakes.made_runs import MadeRun, Words, made_dataset, make_run

ATTACKS = {
    "script": "</pre></td><script>window.hacked=1</script>",
    "handler": "\"' onmouseover='window.hacked=1' x=\"<img src=x onerror=window.hacked=1>",
    "link": '<a href="javascript:window.hacked=1">x</a><iframe src="http://evil.test"></iframe>',
    "svg": "</svg><svg onload=window.hacked=1><image href='http://evil.test/x.png'/><style>*{display:none}</style>",
    "style": "<style>body{display:none}</style><link rel=stylesheet href=//evil.test><div style='position:fixed'>",
    "override": "abc\u202egpj.exe\u2066\u200f<bdo dir=rtl>x</bdo>",
    "control": "\x00\x1b[2J\x08\ud800\ufffe]]>&#x202e;--><!--",
    "template": "{{ 7*7 }}{% raw %}{{ config }}",
    "base": "<base href='http://evil.test/'><meta http-equiv=refresh content='0;url=http://evil.test'><form action=x>",
}


def hostile_words(attack: str) -> Words:
    """A run in which every text is the attack."""
    safe_id = attack.replace("/", "_").replace("\x00", "")
    table = f"<table><tr><td>{attack}</td><td colspan='{attack}'>{{}}</td></tr></table>"
    return Words(attack, safe_id + "{}.png", attack, table, attack, attack, attack, attack)


@pytest.fixture(scope="module", params=ATTACKS)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    words = hostile_words(ATTACKS[request.param])
    dataset = made_dataset(folder, 3, words, images=False)
    return make_report([make_run(folder / "run", dataset, MadeRun(pages=3, words=words))], folder / "report").parent


def pages(report: Path) -> list[Path]:
    found = sorted(report.rglob("*.html"))
    assert len(found) == 5
    return found


def parsed(page: Path) -> html.HtmlElement:
    return html.document_fromstring(page.read_bytes(), parser=html.HTMLParser(encoding="utf-8", huge_tree=True))


def test_no_script_but_the_report_s_own(hostile: Path) -> None:
    for page in pages(hostile):
        scripts = parsed(page).xpath("//script")
        assert [(len(one.text or ""), Path(one.get("src")).name) for one in scripts] == [(0, "report.js")]


def test_no_element_that_loads_runs_or_restyles(hostile: Path) -> None:
    for page in pages(hostile):
        tags = {one.tag for one in parsed(page).iter() if isinstance(one.tag, str)}
        assert not tags & {"iframe", "object", "embed", "style", "base", "form", "foreignobject", "bdo", "img"}


def test_shapes_are_used_from_the_same_page_only(hostile: Path) -> None:
    for page in pages(hostile):
        for element in parsed(page).xpath("//use | //image"):
            link = element.get("xlink:href") or element.get("href")
            assert re.fullmatch(r"#[\w-]+", link), link


def test_no_event_handler_and_no_style(hostile: Path) -> None:
    for page in pages(hostile):
        for element in parsed(page).iter():
            names = [str(name).lower() for name in element.attrib] if isinstance(element.tag, str) else []
            assert not [name for name in names if name.startswith("on") or name == "style"]


def test_links_stay_in_the_report(hostile: Path) -> None:
    for page in pages(hostile):
        for element, _, link, _ in parsed(page).iterlinks():
            assert not re.match(r"(?i)\s*(?:[a-z][a-z0-9+.-]*:|//)", link), (element.tag, link)
            if not link.startswith("#"):
                target = (page.parent / link.split("#")[0]).resolve()
                assert target.is_relative_to(hostile.resolve())
                assert target.exists(), link


def test_every_page_has_the_strict_policy(hostile: Path) -> None:
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'; script-src 'self';")
    for page in pages(hostile):
        root = parsed(page)
        assert root.xpath("//head/meta[@http-equiv='Content-Security-Policy']/@content") == [POLICY]
        assert not root.xpath("//meta[@http-equiv='refresh']")


def test_nothing_unseen_is_left(hostile: Path) -> None:
    for page in pages(hostile):
        assert not re.search("[\x00-\x08\x0b-\x1f\u200e\u200f\u202a-\u202e\u2066-\u2069]", page.read_text("utf-8"))


def test_pages_are_whole(hostile: Path) -> None:
    for page in pages(hostile):
        text = page.read_text("utf-8")
        assert text.count("<main") == text.count("</main>") == 1
        assert parsed(page).xpath("count(//body/footer)") == 1
        for picture in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
            etree.fromstring(picture)


def test_a_cell_of_five_megabytes_makes_no_huge_page(tmp_path: Path) -> None:
    huge = "x " * 2_500_000
    words = Words("Huge", text=huge, table=f"<table><tr><td>{huge}</td></tr></table>", formula="x" * 100_000, raw=huge)
    dataset = made_dataset(tmp_path, 1, images=False)
    index = make_report([make_run(tmp_path / "run", dataset, MadeRun(pages=1, words=words))], tmp_path / "report")
    assert max(page.stat().st_size for page in index.parent.rglob("*.html")) < 1_000_000
