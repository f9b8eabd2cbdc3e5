"""Published rows are read as they are, and each Overall follows from its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.published.rows import doubtful_rows, layout_rows, overall_from_parts, published_rows

ROWS = published_rows()


def test_rows_have_their_source_and_ranges() -> None:
    assert len(ROWS) > 150
    assert all(item.source for item in ROWS)
    assert all(item.text_edit is None or 0 <= item.text_edit <= 1 for item in ROWS)
    assert all(item.overall is None or 0 <= item.overall <= 100 for item in ROWS)


def test_the_claim_that_everyone_checks() -> None:
    claims = [item for item in ROWS if item.system == "HPD-Parsing" and item.overall == 94.91]
    assert claims
    assert any(item.tps == pytest.approx(4752.1) and item.pps == pytest.approx(2.68) for item in ROWS)


def test_no_overall_contradicts_its_parts() -> None:
    assert list(doubtful_rows(ROWS)) == []


def test_a_wrong_overall_is_found() -> None:
    whole = next(item for item in ROWS if overall_from_parts(item) is not None and item.overall is not None)
    wrong = replace(whole, overall=(whole.overall or 0) + 0.1)
    assert [item for item, _ in doubtful_rows([wrong])] == [wrong]


def test_layout_rows_in_percent_with_their_table() -> None:
    rows = layout_rows()
    assert {row["protocol"] for row in rows if row["table"] in ("1", "5", "6", "7")} == {
        "countable / acceptable",
        "binary / acceptable",
        "countable / ignore-acceptable",
        "binary / ignore-acceptable",
    }
    assert all(row["value"] is None or 0 <= row["value"] <= 100 for row in rows)
    assert rows[0]["value"] == pytest.approx(79.5)
    assert rows[0]["source"] == "PaDoc paper, Table 1"
