"""A report in a real browser: no complaint, no request elsewhere, and everything works with mouse and keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalkit.stages.report import make_report
from tests.fakes.made_runs import MadeRun, made_dataset, make_run
from tests.reports.browser import Watched, find_program, watched_page
from tests.reports.test_hostile import ATTACKS, hostile_words

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_program() is None, reason="no Chromium here: apt-get install chromium"),
]
ARTEFACTS = Path(__file__).parents[2] / "artefacts"
TITLES = """n => [...document.querySelector('#board').tBodies[n].querySelectorAll(
  'tr.row:not([hidden]) .name a')].map(link => link.textContent)"""


@pytest.fixture(scope="module")
def playwright() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="module")
def watched(playwright: Any) -> Iterator[Watched]:
    with watched_page(playwright) as found:
        yield found


@pytest.fixture
def browser(watched: Watched) -> Watched:
    watched.complaints.clear()
    watched.requests.clear()
    return watched


def files(report: Path) -> dict[str, Path]:
    view = next(iter(sorted((report / "pages").rglob("poor/*.html"))))
    return {"index": report / "index.html", "run": report / "runs" / "poor.html", "page": view}


def shoot(browser: Watched, name: str, *, full: bool = True) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    browser.page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=full)


def titles(browser: Watched, body: int = 0) -> list[str]:
    found: list[str] = browser.page.evaluate(TITLES, body)
    return found


@pytest.mark.parametrize("kind", ["index", "run", "page"])
def test_pages_load_without_complaint_or_request_elsewhere(browser: Watched, report: Path, kind: str) -> None:
    browser.open(files(report)[kind])
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith(report.absolute().as_uri())] == []
    assert any(url.endswith("report.css") for url in browser.requests)
    assert browser.page.evaluate("getComputedStyle(document.body).margin") == "0px"
    assert browser.page.locator("#theme").is_visible(), "the script ran"


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_output_does_nothing(browser: Watched, tmp_path: Path, attack: str) -> None:
    words = hostile_words(ATTACKS[attack])
    dataset = made_dataset(tmp_path, 2, words, images=False)
    report = make_report(
        [make_run(tmp_path / "run", dataset, MadeRun(pages=2, words=words))], tmp_path / "report"
    ).parent
    for file in sorted(report.rglob("*.html")):
        browser.open(file)
        assert browser.page.evaluate("window.hacked") is None
        assert browser.page.locator("main").is_visible()
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith(report.absolute().as_uri())] == []


def test_sorting_keeps_rows_in_their_section(browser: Watched, report: Path) -> None:
    browser.open(report / "index.html")
    assert titles(browser) == ["Good parser", "Broken rules", "Poor parser"]
    head = browser.page.locator('#board th[data-column="text_edit"]')
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert titles(browser) == ["Good parser", "Broken rules", "Poor parser"]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert titles(browser) == ["Poor parser", "Broken rules", "Good parser"]
    assert titles(browser, 2) == ["Emulated parser"]


def test_speed_is_ranked_apart_from_runs_that_do_not_count(browser: Watched, report: Path) -> None:
    browser.open(report / "index.html")
    head = browser.page.locator('#board th[data-column="pps"]')
    for _ in range(2):
        head.locator("button").click()
        assert titles(browser)[-1] == "Broken rules"
        assert browser.page.locator("tr.divided").count() == 1
    browser.page.locator('#board th[data-column="overall"] button').click()
    assert browser.page.locator("tr.divided").count() == 0


def test_filters_by_text_and_by_kind(browser: Watched, report: Path) -> None:
    browser.open(report / "index.html")
    browser.page.fill('[data-filter="board"]', "good")
    assert titles(browser) == ["Good parser"]
    assert titles(browser, 2) == []
    browser.page.fill('[data-filter="board"]', "")
    browser.page.get_by_text("Rows", exact=True).click()
    browser.page.uncheck('[data-kind="emulated"]')
    browser.page.uncheck('[data-kind="invalid"]')
    assert titles(browser) == ["Good parser", "Poor parser"]
    assert titles(browser, 2) == []
    assert not browser.page.get_by_text("Emulated parser", exact=True).first.is_visible()


def test_columns_are_chosen(browser: Watched, report: Path) -> None:
    browser.open(report / "index.html")
    head = browser.page.locator('#board th[data-column="formula_edit"]')
    assert not head.is_visible()
    browser.page.get_by_text("Columns", exact=True).click()
    browser.page.check('[data-toggle="formula_edit"]')
    assert head.is_visible()
    browser.page.keyboard.press("Escape")
    assert not browser.page.locator(".panel.columns").is_visible()


def test_from_a_cell_to_a_page_in_two_clicks(browser: Watched, report: Path) -> None:
    browser.open(report / "index.html")
    browser.page.locator('tr[data-row="poor"] td[data-column="table_teds"] a').click()
    browser.page.wait_for_url("**/runs/poor.html#by-table_teds")
    first = browser.page.locator("#page-table tbody tr").first
    values = browser.page.evaluate(
        "[...document.querySelectorAll('#page-table tbody tr')].map(r => r.cells[[...document.querySelectorAll("
        "'#page-table thead th')].findIndex(h => h.id === 'by-table_teds')].dataset.value).filter(Boolean).map(Number)"
    )
    assert values == sorted(values), "the worst table first"
    first.locator("a").click()
    browser.page.wait_for_url("**/pages/made-abc/poor/*.html")
    assert browser.page.locator(".pair").count() == 4


def test_page_view_toggles_layers_follows_links_and_compares(browser: Watched, report: Path) -> None:
    browser.open(files(report)["page"])
    boxes = browser.page.locator("#paper g.pred rect").first
    assert boxes.is_visible()
    browser.page.uncheck('[data-layer="pred"]')
    assert not boxes.is_visible()
    browser.page.check('[data-layer="gt-line"]')
    shown = "getComputedStyle(document.querySelector('#paper .gt-line')).display"
    assert browser.page.evaluate(shown) == "inline"
    browser.page.select_option("#beside", index=1)
    frame = browser.page.frame_locator("#other iframe")
    frame.locator(".pair").first.wait_for()
    assert not frame.locator(".bar").is_visible()
    here = browser.page.url
    browser.page.locator(".steps a").first.click()
    browser.page.wait_for_function("here => location.href !== here", arg=here)
    assert browser.complaints == []


def test_layout_modes_are_tabs_and_their_tables_are_sorted(browser: Watched, report: Path) -> None:
    browser.open(report / "index.html")
    shown = browser.page.locator("#layout .tab:not([hidden])")
    assert shown.count() == 1
    browser.page.get_by_role("tab", name="binary / ignore-acceptable").click()
    assert shown.get_attribute("data-tab") == "binary / ignore-acceptable"
    systems = shown.locator("tbody").first.locator("tr.row .name a")
    assert systems.all_inner_texts() == ["Good parser", "Poor parser"]
    button = shown.locator(".sort").nth(1)
    button.click()
    button.click()
    assert systems.all_inner_texts() == ["Poor parser", "Good parser"]
    ids = browser.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_verdicts_colour_boxes_until_they_are_turned_off(browser: Watched, report: Path) -> None:
    browser.open(files(report)["page"])
    stroke = "getComputedStyle(document.querySelector('#paper .gt .miss')).stroke"
    miss = browser.page.evaluate(stroke)
    browser.page.uncheck('[data-layer="verdicts"]')
    plain = browser.page.evaluate(stroke)
    assert plain != miss
    assert plain == browser.page.evaluate(stroke.replace(".miss", ".hit"))


def test_tooltip_on_focus_defines_a_figure(browser: Watched, report: Path) -> None:
    browser.open(report / "index.html")
    browser.page.locator('tr[data-row="good"] td[data-column="text_edit"] a').focus()
    tip = browser.page.locator("#tip")
    assert tip.is_visible()
    assert "Edit distance of matched text" in tip.inner_text()
    assert "protocol:omnidocbench-1.6" in tip.inner_text()
    browser.page.keyboard.press("Escape")
    assert not tip.is_visible()


@pytest.mark.parametrize("kind", ["index", "run", "page"])
def test_keyboard_reaches_every_control(browser: Watched, report: Path, kind: str) -> None:
    browser.open(files(report)[kind])
    script = """() => {
      const wanted = [...document.querySelectorAll('a[href],button,input,select,summary')].filter(
        e => e.checkVisibility({contentVisibilityAuto: true}) && !e.disabled && e.tabIndex >= 0);
      window.unreached = new Set(wanted);
      document.addEventListener('focusin', e => window.unreached.delete(e.target));
      return wanted.length;
    }"""
    count = browser.page.evaluate(script)
    scrollers = browser.page.locator('[tabindex="0"]').count()
    for _ in range(count + scrollers + 40):
        browser.page.keyboard.press("Tab")
    left = browser.page.evaluate("[...window.unreached].map(e => e.outerHTML.slice(0, 120))")
    assert left == []


@pytest.mark.parametrize("kind", ["index", "run", "page"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(playwright: Any, report: Path, kind: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with watched_page(playwright, scheme=scheme) as browser:
        browser.open(files(report)[kind])
        shoot(browser, f"{kind}-{scheme}")
        found = Axe().run(browser.page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]})
        problems = [
            (one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found.response["violations"]
        ]
    assert problems == []


@pytest.mark.parametrize("kind", ["index", "run", "page"])
def test_phone(playwright: Any, report: Path, kind: str) -> None:
    with watched_page(playwright, width=390, height=844) as browser:
        browser.open(files(report)[kind])
        shoot(browser, f"{kind}-phone")
        width = browser.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, "nothing sticks out sideways"
