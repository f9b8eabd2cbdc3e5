"""Which file is a page's prediction, and what becomes of one that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalkit.errors import UserError
from evalkit.prediction_files import MAX_BYTES, PredictionFolder, PredictionState
from evalkit.types import Page


def read(folder: Path, page: Page) -> tuple[str, str | None]:
    found = PredictionFolder(folder).read(page)
    return str(found.state), found.file


@pytest.mark.parametrize(
    ("page", "files", "expected"),
    [
        pytest.param(Page("p1.jpg", "p1"), ["p1.md"], "p1.md", id="plain"),
        pytest.param(Page("p1.jpg", "p1"), ["p1.jpg.md"], "p1.jpg.md", id="whole-image-name"),
        pytest.param(Page("a.pdf_3.jpg", "a.pdf_3"), ["a.pdf_3.md", "a_3.mmd"], "a.pdf_3.md", id="plain-before-mmd"),
        pytest.param(Page("a.pdf_3.jpg", "a.pdf_3"), ["a_3.mmd", "a_3.md"], "a_3.mmd", id="mmd-without-pdf"),
        pytest.param(Page("a.pdf_3.jpg", "a.pdf_3"), ["a_3.md"], "a_3.md", id="md-without-pdf"),
        pytest.param(Page("p1.jpeg", "p1"), ["p1.md"], "p1.md", id="long-extension"),
        pytest.param(Page("p1.webp", "p1"), ["P1.MD"], "P1.MD", id="any-case"),
        pytest.param(Page("p1.png", "p1"), ["p1.markdown"], "p1.markdown", id="markdown-suffix"),
        pytest.param(Page("images/p1.png", "p1"), ["images/p1.md"], "images/p1.md", id="in-the-image-folder"),
        pytest.param(Page("a/p1.png", "a/p1"), ["a/p1.md", "p1.md"], "a/p1.md", id="shared-base-name"),
        pytest.param(Page("b/p1.png", "b/p1"), ["a/p1.md", "p1.md"], None, id="shared-base-name-needs-its-folder"),
        pytest.param(Page("p1.jpg", "p1"), ["p1.txt", "p2.md"], None, id="missing"),
    ],
)
def test_lookup(page: Page, files: list[str], expected: str | None, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    assert read(tmp_path, page) == (("missing", None) if expected is None else ("ok", expected))


@pytest.mark.parametrize(
    ("data", "state", "markdown"),
    [
        pytest.param(b"a\r\nb\rc\n", PredictionState.OK, "a\nb\nc\n", id="line-ends"),
        pytest.param("\ufeffhé".encode(), PredictionState.OK, "\ufeffhé", id="byte-order-mark-stays"),
        pytest.param(b"", PredictionState.EMPTY, "", id="empty"),
        pytest.param(b" \n\t", PredictionState.EMPTY, " \n\t", id="blank"),
        pytest.param(b"\xff\xfe\x00", PredictionState.UNREADABLE, "", id="not-utf8"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00", PredictionState.UNREADABLE, "", id="binary"),
        pytest.param(b"x" * (MAX_BYTES + 1), PredictionState.OVERSIZED, "", id="oversized"),
    ],
)
def test_contents(data: bytes, state: PredictionState, markdown: str, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_bytes(data)
    found = PredictionFolder(tmp_path).read(Page("p.jpg", "p"))
    assert (found.state, found.markdown) == (state, markdown)
    assert (found.reason is None) == (state in (PredictionState.OK, PredictionState.EMPTY))


def test_a_folder_in_the_place_of_a_file_is_no_prediction(tmp_path: Path) -> None:
    (tmp_path / "p.md").mkdir()
    assert read(tmp_path, Page("p.jpg", "p")) == ("missing", None)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.md")  # without a writer: opening it would wait for ever
    found = PredictionFolder(tmp_path).read(Page("p.jpg", "p"))
    assert (found.state, found.reason) == (PredictionState.UNREADABLE, "not a regular file")


def test_files_of_no_page_are_known(tmp_path: Path) -> None:
    for name in ("b/q.md", "p.md", "note.txt", "A.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    folder = PredictionFolder(tmp_path)
    assert folder.others([folder.read(Page("p.jpg", "p"))]) == ["A.md", "b/q.md"]


def test_a_missing_folder_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        PredictionFolder(tmp_path / "none")
