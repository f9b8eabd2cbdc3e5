"""Verdicts of the gate on made-up runs: comparability, coverage, scores by rule, figures of speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.baseline import load_side
from evalkit.errors import InvalidFileError, NotComparableError, UserError
from evalkit.gating.config import AccuracyRule, GateConfig, SpeedRule, StatisticsSettings, ValidityRules
from evalkit.gating.judge import judge
from evalkit.gating.verdict import GateResult, RuleResult, Verdict
from evalkit.store import write_json
from tests.gate.runs import figure, made_scores, shifted, write_run

FEW = StatisticsSettings(resamples=500)
ROWS = made_scores()


def result_of(
    tmp_path: Path, candidate_rows: Any, *rules: AccuracyRule, settings: StatisticsSettings = FEW, **more: Any
) -> GateResult:
    baseline = load_side([write_run(tmp_path / "before", ROWS)])
    candidate = load_side([write_run(tmp_path / "after", candidate_rows, **more)])
    return judge(baseline, candidate, GateConfig(accuracy=rules, statistics=settings))


def one(result: GateResult, rule: str) -> RuleResult:
    (found,) = [item for item in result.rules if item.rule == rule]
    return found


# id, metric, shift of every page, jitter, rule, verdict
ACCURACY = [
    ("equal runs pass", "text_edit", 0.0, 0.0, AccuracyRule("text_edit", margin=0.0), Verdict.PASS),
    ("worse on every page", "text_edit", 0.05, 0.02, AccuracyRule("text_edit", margin=0.01), Verdict.FAIL),
    ("better is no regression", "text_edit", -0.05, 0.02, AccuracyRule("text_edit", margin=0.01), Verdict.PASS),
    ("within the margin", "text_edit", 0.002, 0.001, AccuracyRule("text_edit", margin=0.01), Verdict.PASS),
    ("noise hides it", "text_edit", 0.01, 0.10, AccuracyRule("text_edit", margin=0.01), Verdict.INCONCLUSIVE),
    ("higher is better for TEDS", "table_teds", -0.05, 0.01, AccuracyRule("table_teds", margin=0.01), Verdict.FAIL),
    ("relative margin", "table_teds", -0.05, 0.001, AccuracyRule("table_teds", relative_margin=0.2), Verdict.PASS),
    ("floor", "table_teds", -0.3, 0.0, AccuracyRule("table_teds", floor=0.6), Verdict.FAIL),
    ("floor held", "table_teds", -0.1, 0.0, AccuracyRule("table_teds", floor=0.6), Verdict.PASS),
    ("ceiling", "text_edit", 0.3, 0.0, AccuracyRule("text_edit", ceiling=0.2), Verdict.FAIL),
    ("greatest drop", "text_edit", 0.02, 0.0, AccuracyRule("text_edit", greatest_drop=0.01), Verdict.FAIL),
    ("greatest drop held", "text_edit", 0.005, 0.0, AccuracyRule("text_edit", greatest_drop=0.01), Verdict.PASS),
    ("exact", "text_edit", 1e-6, 0.0, AccuracyRule("text_edit", exact=True), Verdict.FAIL),
    ("exact up to rounding", "text_edit", 1e-12, 0.0, AccuracyRule("text_edit", exact=True), Verdict.PASS),
    ("exact overall sees its parts", "formula_cdm", 1e-6, 0.0, AccuracyRule("overall", exact=True), Verdict.FAIL),
    ("overall falls", "formula_cdm", -0.1, 0.01, AccuracyRule("overall", margin=0.5), Verdict.FAIL),
    ("other metrics leave overall", "table_teds_s", -0.1, 0.0, AccuracyRule("overall", exact=True), Verdict.PASS),
]


@pytest.mark.parametrize(
    ("metric", "by", "noise", "rule", "verdict"), [row[1:] for row in ACCURACY], ids=[row[0] for row in ACCURACY]
)
def test_accuracy(tmp_path: Path, metric: str, by: float, noise: float, rule: AccuracyRule, verdict: Verdict) -> None:
    result = result_of(tmp_path, shifted(ROWS, metric, by, noise), rule)
    assert one(result, rule.metric).verdict is verdict
    assert result.verdict is verdict
    assert result.exit_code == {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 4}[verdict]


def test_the_result_says_value_baseline_difference_interval_margin_and_pages(tmp_path: Path) -> None:
    rows = [dict(row) for row in ROWS]
    rows[4] = {**rows[4], "values": {**rows[4]["values"], "text_edit": 1.0}}
    found = one(result_of(tmp_path, rows, AccuracyRule("text_edit", margin=0.1)), "text_edit")
    before = ROWS[4]["values"]["text_edit"]
    assert found.difference == pytest.approx((1.0 - before) / 60)
    assert found.value == pytest.approx((found.baseline or 0) + (found.difference or 0))
    assert found.interval is not None
    assert found.interval[0] <= (found.difference or 0) <= found.interval[1]
    (page,) = found.pages
    assert (page.page_id, page.baseline, page.candidate) == ("p0004.png", before, 1.0)
    assert page.share == pytest.approx(-(found.difference or 0))


def test_shares_of_pages_in_overall_add_up_to_its_change(tmp_path: Path) -> None:
    rows = shifted(ROWS[:1], "table_teds", -0.3) + shifted(ROWS[1:2], "text_edit", 0.2) + ROWS[2:]
    found = one(result_of(tmp_path, rows, AccuracyRule("overall", margin=5)), "overall")
    assert {page.page_id for page in found.pages} == {"p0000.png", "p0001.png"}
    assert sum(page.share for page in found.pages) == pytest.approx(found.difference)


def test_a_rule_by_attribute_judges_each_group(tmp_path: Path) -> None:
    worse = [*shifted([row for row in ROWS if row["groups"]["language"] == "chinese"], "text_edit", 0.2, 0.02)]
    rows = sorted(
        [*worse, *(row for row in ROWS if row["groups"]["language"] == "english")], key=lambda row: row["page_id"]
    )
    result = result_of(tmp_path, rows, AccuracyRule("text_edit", margin=0.01, by="language"))
    assert one(result, "text_edit [language=chinese]").verdict is Verdict.FAIL
    assert one(result, "text_edit [language=english]").verdict is Verdict.PASS


def test_a_group_without_tables_has_nothing_to_fail(tmp_path: Path) -> None:
    result = result_of(tmp_path, ROWS, AccuracyRule("table_teds", margin=0.01, by="language"))
    empty = one(result, "table_teds [language=chinese]")
    assert (empty.verdict, empty.message) == (Verdict.PASS, "nothing to score in these pages")


def test_many_groups_are_held_to_holm(tmp_path: Path) -> None:
    rows = [{**row, "groups": {"shelf": str(number // 6)}} for number, row in enumerate(made_scores(120))]
    after = [*shifted(rows[:6], "text_edit", 0.03, 0.02), *shifted(rows[6:], "text_edit", 0.0, 0.02)]
    baseline = load_side([write_run(tmp_path / "before", rows)])
    candidate = load_side([write_run(tmp_path / "after", after)])
    alone = AccuracyRule("text_edit", margin=0.0, where={"shelf": "0"})
    family = AccuracyRule("text_edit", margin=0.0, by="shelf")
    few = StatisticsSettings(resamples=200)
    single = judge(baseline, candidate, GateConfig(accuracy=(alone,), statistics=few))
    many = judge(baseline, candidate, GateConfig(accuracy=(family,), statistics=few))
    assert one(single, "text_edit [shelf=0]").verdict is Verdict.FAIL
    assert one(many, "text_edit [shelf=0]").verdict is Verdict.INCONCLUSIVE
    assert "over all groups" in one(many, "text_edit [shelf=0]").message


def test_an_attribute_with_a_value_a_page_is_refused(tmp_path: Path) -> None:
    rows = [{**row, "groups": {"serial": str(number)}} for number, row in enumerate(made_scores(400))]
    run = load_side([write_run(tmp_path / "run", rows)])
    config = GateConfig(accuracy=(AccuracyRule("overall", margin=1, by="serial"),), statistics=FEW)
    with pytest.raises(UserError, match="ask for 1200 means of groups of pages, the limit is 1000"):
        judge(run, run, config)


def test_length_buckets_come_from_the_baselines_outputs(tmp_path: Path) -> None:
    baseline = load_side([write_run(tmp_path / "before", ROWS)])
    pages = [
        type(page)(page.page_id, page.values, groups=page.groups, output_tokens=100 * number)
        for number, page in enumerate(baseline.pages)
    ]
    long = type(baseline)(**{**{n: getattr(baseline, n) for n in baseline.__slots__}, "pages": tuple(pages)})
    config = GateConfig(accuracy=(AccuracyRule("text_edit", margin=0, by="output_length"),), statistics=FEW)
    names = [item.rule for item in judge(long, long, config).rules if item.stage == "accuracy"]
    assert names[0] == "text_edit [output_length=0-1000]"
    assert len(names) == 6


def test_a_run_whose_server_says_that_it_is_emulated_counts_as_emulated(tmp_path: Path) -> None:
    """A server given by its address is known for an emulated one only when it answers; run.json cannot know."""
    figures = {"pps": figure(3.5, provenance="emulated")}
    run = write_run(tmp_path / "run", ROWS[:3], figures=figures, bench={"provenance": "emulated"})
    assert load_side([run]).emulated


def test_a_few_pages_decide_nothing_unless_they_are_equal(tmp_path: Path) -> None:
    rule = AccuracyRule("text_edit", margin=0.001)
    baseline = load_side([write_run(tmp_path / "before", ROWS[:3])])
    same = judge(baseline, baseline, GateConfig(accuracy=(rule,), statistics=FEW))
    assert same.verdict is Verdict.PASS
    candidate = load_side([write_run(tmp_path / "after", shifted(ROWS[:3], "text_edit", 0.5))])
    found = judge(baseline, candidate, GateConfig(accuracy=(rule,), statistics=FEW))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert one(found, "text_edit").message == "too few pages for an interval: 3, at least 5 are needed"


def test_a_metric_that_one_side_lacks_is_not_comparable(tmp_path: Path) -> None:
    rows = [{**row, "values": {**row["values"], "formula_cdm": None}} for row in ROWS]
    result = result_of(tmp_path, rows, AccuracyRule("formula_cdm", margin=0.1), AccuracyRule("text_edit", margin=0.1))
    assert one(result, "formula_cdm").message == "not scored in the candidate"
    assert (result.verdict, result.exit_code) == (Verdict.NOT_COMPARABLE, 3)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (AccuracyRule("teds", margin=1), "unknown metric in a rule 'teds'"),
        (AccuracyRule("text_edit", margin=1, by="lang"), "unknown page attribute in a rule 'lang'"),
        (
            AccuracyRule("text_edit", margin=1, where={"language": "latin"}),
            "unknown value of language in a rule 'latin'",
        ),
    ],
)
def test_rules_that_name_what_is_not_there(tmp_path: Path, rule: AccuracyRule, message: str) -> None:
    with pytest.raises(UserError, match=message):
        result_of(tmp_path, ROWS, rule)


# id, changes of the candidate run, part of the reason
INCOMPARABLE: list[tuple[str, dict[str, Any], str]] = [
    ("other data", {"sha": "cd" * 32}, "data: made@abababababab != made@cdcdcdcdcdcd"),
    ("other protocol", {"protocol": "omnidocbench-1.5"}, "protocol: omnidocbench-1.6 != omnidocbench-1.5"),
    ("other evalkit", {"evalkit": "0.2.0"}, "evalkit: 0.1.0 != 0.2.0"),
    ("emulated", {"emulated": True}, "baseline is measured, candidate is emulated"),
]


@pytest.mark.parametrize(("more", "reason"), [row[1:] for row in INCOMPARABLE], ids=[row[0] for row in INCOMPARABLE])
def test_sides_that_must_not_be_compared(tmp_path: Path, more: dict[str, Any], reason: str) -> None:
    result = result_of(tmp_path, ROWS, AccuracyRule("text_edit", margin=0.1), **more)
    assert (result.verdict, result.exit_code) == (Verdict.NOT_COMPARABLE, 3)
    assert reason in one(result, "comparable").message
    assert all(item.stage == "validity" for item in result.rules)


@pytest.mark.parametrize(("name", "more"), [("evalkit", {"evalkit": "0.2.0"}), ("emulated", {"emulated": True})])
def test_a_difference_may_be_allowed(tmp_path: Path, name: str, more: dict[str, Any]) -> None:
    baseline = load_side([write_run(tmp_path / "before", ROWS)])
    candidate = load_side([write_run(tmp_path / "after", ROWS, **more)])
    config = GateConfig(validity=ValidityRules(allow_differences=(name,)), statistics=FEW)
    assert judge(baseline, candidate, config).verdict is Verdict.PASS
    assert judge(baseline, candidate, GateConfig(), allow_differences=(name,)).verdict is Verdict.PASS


def test_pages_that_one_side_lacks(tmp_path: Path) -> None:
    result = result_of(tmp_path, ROWS[1:], AccuracyRule("text_edit", margin=0.1))
    assert one(result, "comparable").message.startswith("1 pages are not in the candidate: p0000.png")


def test_a_dropped_prediction_is_incomplete(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "prediction_state": "missing"}, *ROWS[1:]]
    result = result_of(tmp_path, rows)
    assert (result.verdict, result.exit_code) == (Verdict.NOT_COMPARABLE, 3)
    assert "without: p0000.png" in one(result, "coverage").message
    lenient = GateConfig(validity=ValidityRules(least_coverage=0.9))
    sides = [load_side([tmp_path / name]) for name in ("before", "after")]
    assert judge(*sides, lenient).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("states", "verdict", "message"),
    [
        ({"ok": 98, "truncated": 2}, Verdict.PASS, "2.00% of the answers are truncated (95 % interval 0.55% to 7.00%)"),
        ({"ok": 97, "truncated": 3}, Verdict.FAIL, "3.00%"),
        ({}, Verdict.NOT_COMPARABLE, "truncation is not known"),
    ],
    ids=["at the limit", "over it", "no requests"],
)
def test_truncation(tmp_path: Path, states: dict[str, int], verdict: Verdict, message: str) -> None:
    run = load_side([write_run(tmp_path / "run", ROWS, figures={}, bench={"states": states})])
    found = one(judge(run, run, GateConfig(validity=ValidityRules(greatest_truncation_rate=0.02))), "truncation_rate")
    assert found.verdict is verdict
    assert message in found.message


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [([{"name": "c", "passed": True}], "pass"), ([{"name": "c", "passed": False}], "fail"), ([], "not_comparable")],
    ids=["passed", "failed", "not done"],
)
def test_required_checks(tmp_path: Path, checks: list[dict[str, Any]], verdict: str) -> None:
    run = load_side([write_run(tmp_path / "run", ROWS, figures={}, bench={"checks": checks})])
    assert judge(run, run, GateConfig(validity=ValidityRules(required_checks=("c",)))).verdict == verdict


def speed_side(folder: Path, values: list[float], **more: Any) -> Any:
    kind = {key: more.pop(key) for key in ("unit", "provenance") if key in more}
    runs = [
        write_run(folder / f"{place}", figures={"pps": figure(value, **kind)}, **more)
        for place, value in enumerate(values)
    ]
    return load_side(runs)


# id, baseline figures, candidate figures, rule, kind of figure, verdict
SPEED: list[tuple[str, list[float], list[float], SpeedRule, dict[str, str], Verdict]] = [
    ("slower beyond noise", [10, 10.1, 9.9], [8, 8.1, 7.9], SpeedRule("pps", relative_margin=0.05), {}, Verdict.FAIL),
    ("same speed", [10, 10.1, 9.9], [10, 10.1, 9.9], SpeedRule("pps", relative_margin=0.05), {}, Verdict.PASS),
    ("faster", [10, 10.1], [20, 20.2], SpeedRule("pps", relative_margin=0.0), {}, Verdict.PASS),
    ("noise hides it", [10, 12, 8], [9, 11, 7], SpeedRule("pps", relative_margin=0.05), {}, Verdict.INCONCLUSIVE),
    ("one run each says nothing", [10], [5], SpeedRule("pps", relative_margin=0.05), {}, Verdict.INCONCLUSIVE),
    ("known noise", [10], [5], SpeedRule("pps", relative_margin=0.05, noise=0.02), {}, Verdict.FAIL),
    (
        "lower is better for seconds",
        [1.0, 1.01],
        [2.0, 2.02],
        SpeedRule("pps", relative_margin=0.05),
        {"unit": "s"},
        Verdict.FAIL,
    ),
    (
        "emulated figures have no noise",
        [10],
        [9.9],
        SpeedRule("pps", relative_margin=0.05),
        {"provenance": "emulated"},
        Verdict.PASS,
    ),
    (
        "emulated and slower",
        [10],
        [9.0],
        SpeedRule("pps", relative_margin=0.05),
        {"provenance": "emulated"},
        Verdict.FAIL,
    ),
    ("exact", [10], [10.000001], SpeedRule("pps", exact=True), {}, Verdict.FAIL),
    ("exact and equal", [10], [10], SpeedRule("pps", exact=True), {}, Verdict.PASS),
    ("floor", [10], [5], SpeedRule("pps", floor=6), {}, Verdict.FAIL),
    ("greatest drop", [10], [8.9], SpeedRule("pps", greatest_drop=0.1), {}, Verdict.FAIL),
    ("greatest drop held", [10], [9.1], SpeedRule("pps", greatest_drop=0.1), {}, Verdict.PASS),
    ("greatest drop of seconds", [10], [12], SpeedRule("pps", greatest_drop=0.1), {"unit": "s"}, Verdict.FAIL),
    ("ceiling", [10], [5], SpeedRule("pps", ceiling=6), {"unit": "s"}, Verdict.PASS),
    (
        "a unit that says nothing",
        [0.5],
        [0.5],
        SpeedRule("pps", floor=0.1, better="higher"),
        {"unit": "1"},
        Verdict.PASS,
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "rule", "kind", "verdict"), [row[1:] for row in SPEED], ids=[row[0] for row in SPEED]
)
def test_speed(
    tmp_path: Path, before: list[float], after: list[float], rule: SpeedRule, kind: dict[str, str], verdict: Verdict
) -> None:
    result = judge(
        speed_side(tmp_path / "a", before, **kind), speed_side(tmp_path / "b", after, **kind), GateConfig(speed=(rule,))
    )
    assert one(result, "pps").verdict is verdict


def test_speed_says_the_relative_change_with_its_interval(tmp_path: Path) -> None:
    sides = speed_side(tmp_path / "a", [10, 10.2]), speed_side(tmp_path / "b", [9, 9.2])
    found = one(judge(*sides, GateConfig(speed=(SpeedRule("pps", relative_margin=0.05),))), "pps")
    assert found.difference == pytest.approx((9 * 9.2 / (10 * 10.2)) ** 0.5 - 1)
    assert found.interval is not None
    assert found.interval[0] < (found.difference or 0) < found.interval[1]
    assert (found.unit, found.provenance) == ("pages/s", "measured")


def test_speed_that_cannot_be_compared(tmp_path: Path) -> None:
    rule = GateConfig(speed=(SpeedRule("pps", floor=1),))
    measured = speed_side(tmp_path / "a", [10])
    emulated = speed_side(tmp_path / "b", [10], provenance="emulated")
    absent = load_side([write_run(tmp_path / "c", figures={"pps": figure(None, reason="no window")})])
    scores = load_side([write_run(tmp_path / "d", ROWS)])
    assert "provenance differs: measured against emulated" in one(judge(measured, emulated, rule), "pps").message
    assert "has no value: no window" in one(judge(measured, absent, rule), "pps").message
    assert "holds no speed run with this figure" in one(judge(measured, scores, rule), "pps").message


def grouped(folder: Path, latencies: dict[str, float], **bench: Any) -> Any:
    rows = [
        {"name": name, "pages": 9, "latency_p50_s": value, "provenance": "emulated"}
        for name, value in latencies.items()
    ]
    return load_side([write_run(folder, figures={"pps": figure(1.0)}, bench={"groups": {"language": rows}, **bench})])


def test_speed_by_attribute_judges_each_group(tmp_path: Path) -> None:
    before = grouped(tmp_path / "a", {"english": 1.0, "chinese": 2.0})
    after = grouped(tmp_path / "b", {"english": 1.0, "chinese": 3.0})
    by, where = (
        SpeedRule("latency_p50_s", relative_margin=0.1, **more)
        for more in ({"by": "language"}, {"where": {"language": "english"}})
    )
    result = judge(before, after, GateConfig(speed=(by,)))
    assert one(result, "latency_p50_s [language=english]").verdict is Verdict.PASS
    assert one(result, "latency_p50_s [language=chinese]").verdict is Verdict.FAIL
    assert judge(before, after, GateConfig(speed=(where,))).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({"a": 1.0, "b": 1.0}, {"a": 1.0}, Verdict.INCONCLUSIVE),
        ({"a": 1.0, "b": None}, {"a": 1.0, "b": None}, Verdict.PASS),
        ({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": None}, Verdict.INCONCLUSIVE),
    ],
    ids=["no page there any more", "no answer on either side", "no answer any more"],
)
def test_a_group_that_one_run_lacks(tmp_path: Path, before: Any, after: Any, verdict: Verdict) -> None:
    sides = grouped(tmp_path / "a", before), grouped(tmp_path / "b", after)
    rule = SpeedRule("latency_p50_s", relative_margin=0.1, by="language")
    assert one(judge(*sides, GateConfig(speed=(rule,))), "latency_p50_s [language=b]").verdict is verdict


def test_speed_by_length_bucket(tmp_path: Path) -> None:
    buckets = {
        "hpd": {"by_own_length": [{"name": "0-1000", "pages": 3, "request_throughput": 2.0, "provenance": "emulated"}]}
    }
    run = grouped(tmp_path / "a", {"english": 1.0}, buckets=buckets)
    rule = SpeedRule("request_throughput", relative_margin=0.1, by="output_length")
    assert one(judge(run, run, GateConfig(speed=(rule,))), "request_throughput [output_length=0-1000]").value == 2.0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (SpeedRule("latency_p50_s", floor=1, by="lang"), "unknown page attribute in a rule 'lang'"),
        (
            SpeedRule("latency_p50_s", floor=1, where={"language": "latin"}),
            "unknown value of language in a rule 'latin'",
        ),
        (SpeedRule("latency", floor=1, by="language"), "unknown figure in a rule 'latency'"),
    ],
)
def test_speed_rules_on_groups_that_are_not_there(tmp_path: Path, rule: SpeedRule, message: str) -> None:
    run = grouped(tmp_path / "a", {"english": 1.0})
    with pytest.raises(UserError, match=message):
        judge(run, run, GateConfig(speed=(rule,)))


def test_a_run_that_breaks_rules_of_measurement_gives_no_speed_verdict(tmp_path: Path) -> None:
    run = load_side(
        [write_run(tmp_path / "a", figures={"pps": figure(1.0)}, bench={"broken_rules": ["cold_prefix_cache"]})]
    )
    result = judge(run, run, GateConfig(speed=(SpeedRule("pps", floor=1),)))
    assert result.exit_code == 3
    assert "cold_prefix_cache" in one(result, "speed_runs_valid").message


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (SpeedRule("pss", floor=1), "unknown figure in a rule 'pss'. Did you mean 'pps'?"),
        (SpeedRule("pps", floor=1), "does not say what is better"),
    ],
)
def test_speed_rules_that_cannot_be_read(tmp_path: Path, rule: SpeedRule, message: str) -> None:
    side = speed_side(tmp_path, [10], unit="1")
    with pytest.raises(UserError, match=message.replace("?", r"\?")):
        judge(side, side, GateConfig(speed=(rule,)))


@pytest.mark.parametrize(("word", "code"), [(None, 4), ("pass", 0), ("fail", 1)])
def test_what_inconclusive_means_can_be_set(tmp_path: Path, word: str | None, code: int) -> None:
    sides = speed_side(tmp_path / "a", [10]), speed_side(tmp_path / "b", [5])
    result = judge(*sides, GateConfig(speed=(SpeedRule("pps", relative_margin=0.05),)), inconclusive=word)
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, code)


def test_repeats_must_be_of_one_system(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", figures={"pps": figure(1.0)})
    other = write_run(tmp_path / "b", figures={"pps": figure(1.0)}, system="other")
    with pytest.raises(NotComparableError, match="is no repeat of"):
        load_side([first, other])


def nan_score(run: Path) -> None:
    path = run / "evaluate" / "page_scores.jsonl"
    path.write_text(path.read_text().replace('"text_edit": 0', '"text_edit": NaN, "was": 0', 1))


def no_pages(run: Path) -> None:
    path = run / "evaluate" / "page_scores.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")


def cut_summary(run: Path) -> None:
    path = run / "evaluate" / "summary.json"
    path.write_text(path.read_text()[:50])


def nan_overall(run: Path) -> None:
    path = run / "evaluate" / "summary.json"
    plain = json.loads(path.read_text())
    path.write_text(json.dumps({**plain, "overall": float("nan")}))


def odd_summary(run: Path) -> None:
    write_json(run / "evaluate" / "summary.json", {"metrics": [1]})


def other_schema(run: Path) -> None:
    path = run / "evaluate" / "page_scores.jsonl"
    path.write_text(path.read_text().replace('"version": 1', '"version": 9', 1))


def nan_figure(run: Path) -> None:
    (run / "bench" / "summary.json").write_text('{"figures": {"pps": {"value": NaN}}}')


def odd_checks(run: Path) -> None:
    write_json(run / "bench" / "summary.json", {"figures": {}, "checks": [1]})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (nan_score, "line 2: text_edit is nan"),
        (no_pages, "no pages: the run is empty"),
        (cut_summary, "not valid JSON"),
        (nan_overall, "overall is nan"),
        (odd_summary, "metrics must be an object of objects"),
        (other_schema, "expected evalkit.page_scores version 1, found evalkit.page_scores version 9; run the stage"),
        (nan_figure, "pps is nan"),
        (odd_checks, "not as `evalkit bench` writes it"),
    ],
)
def test_damaged_runs_are_one_clear_message(tmp_path: Path, damage: Any, message: str) -> None:
    run = write_run(tmp_path / "run", ROWS, figures={"pps": figure(1.0)})
    damage(run)
    with pytest.raises(InvalidFileError) as raised:
        load_side([run])
    assert message in str(raised.value)


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such run folder"):
        load_side([tmp_path / "none"])
    with pytest.raises(UserError, match="holds neither"):
        load_side([tmp_path])
    with pytest.raises(UserError, match="no run given"):
        load_side([])
