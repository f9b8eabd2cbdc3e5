"""Plans that cannot be run are refused as a user's mistake, before anything is started or written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli.main import main
from evalkit.errors import UserError
from evalkit.load_plan import LoadPlan
from evalkit.stages.bench import bench, default_folder
from evalkit.stages.bench_plan import BenchPlan, planned
from evalkit.stages.infer import infer
from evalkit.types import InferSettings, System
from tests.fakes.chat_server import page_jobs

BENCH = [
    ("no page", {"limit": 0}, "--limit must be 1 or more, not 0"),
    ("fewer than no page", {"limit": -1}, "--limit must be 1 or more, not -1"),
    ("nothing in flight", {"load": LoadPlan((0,))}, "--bs 0: must be 1 or more"),
    ("no rate", {"load": LoadPlan(shape="poisson")}, "poisson arrivals need a rate above 0"),
    ("no end of a rate", {"load": LoadPlan(shape="constant", rate_per_s=float("inf"))}, "need a rate above 0"),
    ("more than a client can hold", {"load": LoadPlan((10**8,))}, "--bs and --max-bs must be at most 65535"),
    (
        "arrivals of batches",
        {"offline": True, "launch": {"vllm": "/e"}, "load": LoadPlan(shape="poisson", rate_per_s=1.0)},
        "leave out --arrivals poisson",
    ),
    ("too few pages", {"load": LoadPlan(max_latency_s=1.0)}, "latency_p95_s cannot be told from 1 pages"),
    ("no warm-up", {"warmup": -1}, "--warmup must be 0 or more, not -1"),
    ("no client", {"processes": 0}, "--processes must be 1 or more, not 0"),
    ("no GPU", {"gpus": 0}, "--gpus must be 1 or more, not 0"),
    ("no time", {"timeout_s": -1.0}, "--timeout must be above 0 seconds, not -1"),
    ("time is no number", {"timeout_s": float("nan")}, "--timeout must be above 0 seconds, not nan"),
    ("no worker", {"workers": 0}, "--workers must be 1 or more, not 0"),
    ("no engine", {"offline": True}, "--offline needs the environment of the engine: give --vllm"),
    ("no data set", {"dataset": "nowhere"}, "nowhere"),
    ("launcher", {"launcher": "k8s"}, "unknown launcher 'k8s'"),
    ("emulate", {"emulate": "sometimes"}, "unknown way to emulate 'sometimes'"),
    ("validity rule", {"allowed": ("cold_cache",)}, "no validity rule is called cold_cache"),
    ("address of another system", {"urls": {"hpd-prasing": "http://h:1"}}, "Did you mean 'hpd-parsing'?"),
]


@pytest.mark.parametrize(("changes", "message"), [case[1:] for case in BENCH], ids=[case[0] for case in BENCH])
def test_a_benchmark_that_cannot_run_is_refused_at_once(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    plan = BenchPlan(systems=("hpd-parsing",), out=tmp_path / "out", limit=1)
    for do in (planned, bench):
        with pytest.raises(UserError) as refused:
            do(replace(plan, **changes))
        assert message in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_two_systems_of_one_name_are_refused(tmp_path: Path) -> None:
    own = tmp_path / "hpd-ar.toml"
    text = (Path(__file__).parents[2] / "runners/systems/hpd-ar.toml").read_text(encoding="utf-8")
    own.write_text(text.replace('title = "', 'title = "My ', 1), encoding="utf-8")
    with pytest.raises(UserError, match="two different systems are called hpd-ar"):
        planned(BenchPlan(systems=("hpd-ar", str(own)), emulate="always"))
    twice = planned(BenchPlan(systems=("hpd-ar", "hpd-ar"), emulate="always"))
    assert twice == planned(BenchPlan(systems=("hpd-ar",), emulate="always"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"timeout_s": 0.0}, "--timeout must be above 0"), ({"processes": 0}, "--processes must be 1 or more")],
)
def test_a_drive_that_cannot_run_is_refused_at_once(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    settings = InferSettings(system=System(name="fake", title="Fake", runner="openai"), endpoints=("http://h:1",))
    with pytest.raises(UserError, match=message):
        infer(tmp_path / "run", page_jobs(tmp_path / "images", 1), replace(settings, **changes))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["infer", "run", "--system", "hpd-parsing", "--limit", "0"], "--limit must be 1 or more, not 0"),
        (["infer", "run", "--system", "hpd-parsing", "--warmup", "-1"], "--warmup must be 0 or more pages, not -1"),
        (["selfcheck", "--limit", "-2"], "--limit must be 1 or more, not -2"),
    ],
)
def test_numbers_out_of_range_end_with_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("mini", "runs/mini-bs16"),
        ("mini[:3]", "runs/mini-first-3-bs16"),
        ("my pages (new)", "runs/my-pages-new-bs16"),
    ],
)
def test_the_folder_of_runs_is_no_pattern_of_a_shell(dataset: str, expected: str) -> None:
    assert default_folder(dataset, LoadPlan()) == Path(expected)


@pytest.mark.parametrize(
    ("plan", "launcher"),
    [
        (BenchPlan(), None),
        (BenchPlan(launch={"vllm": "env"}), "vllm"),
        (BenchPlan(launch={"vllm": "env"}, launcher="wheel"), "wheel"),
        (BenchPlan(launch={"vllm": "env"}, offline=True), None),
    ],
)
def test_an_environment_that_is_named_is_used(plan: BenchPlan, launcher: str | None) -> None:
    assert plan.server.launcher == launcher
