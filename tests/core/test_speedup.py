"""Speed-ups over the baseline, and their two dimensions."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.speedup import parts, speedup_table, speedups


def summary(name: str, pps: float | None, *, forks: bool, speculates: bool, **changes: Any) -> dict[str, Any]:
    figures = {"pps": pps, "tps": 100.0 if pps is None else pps * 1000, "step_speedup": 2.0}
    base = {
        "system": name,
        "baseline": None if name == "ar" else "ar",
        "paradigm": "hierarchical" if forks else "autoregressive",
        "speculative": speculates,
        "mode": "server",
        "load": {"shape": "closed", "in_flight": 512, "rate_per_s": None},
        "valid": True,
        "provenance": "measured",
        "speedup": None if name == "ar" else {"geometric_mean": 2.5, "interval": [2.4, 2.6]},
        "figures": {key: {"value": value} for key, value in figures.items()},
    }
    return base | changes


AR = summary("ar", 1.0, forks=False, speculates=False)
FORK = summary("fork", 1.5, forks=True, speculates=False)
MTP = summary("mtp", 2.0, forks=False, speculates=True)
BOTH = summary("both", 2.7, forks=True, speculates=True)


def test_each_system_is_set_against_its_baseline() -> None:
    rows = speedups([AR, FORK, MTP, BOTH])
    assert [(row.system, row.baseline, row.pps, row.tps) for row in rows] == [
        ("fork", "ar", 1.5, 1.5),
        ("mtp", "ar", 2.0, 2.0),
        ("both", "ar", 2.7, 2.7),
    ]
    assert (rows[0].latency, rows[0].latency_interval, rows[0].steps) == (2.5, (2.4, 2.6), 2.0)


def test_the_two_dimensions_by_hand() -> None:
    split = parts(speedups([AR, FORK, MTP, BOTH]))
    assert split is not None
    assert (split.forking, split.speculation, split.both, split.product) == (1.5, 2.0, 2.7, 3.0)
    assert split.interaction == pytest.approx(0.9)
    table = speedup_table(speedups([AR, FORK, MTP, BOTH]))
    assert table.splitlines()[-1] == ("forking 1.50x, speculation 2.00x, both 2.70x pages/s: 0.90 of the product 3.00x")


@pytest.mark.parametrize("missing", [FORK, MTP, BOTH])
def test_without_one_of_the_three_there_are_no_parts(missing: dict[str, Any]) -> None:
    rows = speedups([one for one in (AR, FORK, MTP, BOTH) if one is not missing])
    assert len(rows) == 2
    assert parts(rows) is None


def test_other_loads_and_modes_are_not_compared() -> None:
    other = {"shape": "closed", "in_flight": 16, "rate_per_s": None}
    assert speedups([AR, summary("both", 2.7, forks=True, speculates=True, load=other)]) == []
    assert speedups([AR, summary("both", 2.7, forks=True, speculates=True, mode="offline")]) == []
    assert speedups([BOTH]) == []


def test_void_rates_give_no_ratio_and_invalid_runs_say_so() -> None:
    void = summary("both", None, forks=True, speculates=True, valid=False, provenance="emulated")
    (row,) = speedups([AR, void])
    assert (row.pps, row.valid) == (None, False)
    assert speedup_table([row]).splitlines()[1].split() == ["both*", "ar", "-", "0.10x", "2.50x", "2.00x", "no"]
