"""The libxml2 check says whether malformed tables are read as the official scores were made."""

from __future__ import annotations

import pytest

from metrics.teds import doctor


def test_this_environment_reads_malformed_tables_as_the_official_scorer() -> None:
    (finding,) = doctor.check_libxml2()
    assert (finding.name, finding.state) == ("libxml2", "ok")


def test_another_reading_is_reported_with_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "EXPECTED", (("<tr><td>a", "td:b tr table"),))
    (finding,) = doctor.check_libxml2()
    assert finding.state == "broken"
    assert "'td:a tr table'" in finding.message
