"""The project's gate on itself: stored outputs of `mini` scored anew, and figures of the simulated engine.

    python scripts/self_gate.py              judge; exit code as `evalkit gate`
    python scripts/self_gate.py --update     write the baselines again, after a change that is meant

Both parts are deterministic, so the rules in tests/baselines/gates.toml are exact. No TeX is needed: formulas are
compared by edit distance. A changed baseline belongs in the commit that causes it, which says which score moved.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit import registry
from evalkit.api import evaluate
from evalkit.baseline import load_side, read_baseline, save_baseline
from evalkit.dataset import Dataset, load_dataset
from evalkit.errors import EvalkitError
from evalkit.gating.config import load_config
from evalkit.gating.judge import judge
from evalkit.gating.outputs.text import table
from evalkit.gating.verdict import GateResult, exit_code, heaviest
from evalkit.requests_log import FILE, SCHEMA, VERSION
from evalkit.run_record import begin_run
from evalkit.stages.convert import convert_outputs
from evalkit.store import read_jsonl, write_json, write_jsonl
from evalkit.types import FinishState, RawOutput, TokenCounts

ROOT = Path(__file__).resolve().parents[1]
MINI = ROOT / "datasets" / "mini"
STREAMS = MINI / "streams.jsonl"
BASELINES = ROOT / "tests" / "baselines"
SYSTEMS = {"hpd-parsing": "fork", "hpd-ar": "plain"}
"""System -> which of the recorded answers it gives."""

PAGES_IN_FLIGHT = 8
UNITS = {
    "pps": "pages/s",
    "tps": "tokens/s",
    "latency_p50_s": "s",
    "first_token_p50_s": "s",
    "critical_path_steps": "steps",
    "accepted_length": "tokens/step",
}


def build_run(folder: Path, system_name: str, dataset: Dataset) -> Path:
    """A run of one system from its recorded answers: converted and scored, with the simulated engine's figures."""
    system = registry.load("catalog", "system")(system_name)
    begin_run(folder, dataset, system=system, emulated=True)
    write_jsonl(folder / "infer" / FILE, SCHEMA, VERSION, _recorded(SYSTEMS[system_name]))
    pages = [truth.page for truth in dataset.pages]
    convert_outputs(folder, pages, system.output.converter, system.output.variant)
    evaluate(folder, dataset, out=folder, cdm=False, workers=1, options={"latex_tables": "builtin"})
    write_json(folder / "bench" / "summary.json", {"figures": _simulated(system_name)})
    return folder


def _recorded(kind: str) -> list[RawOutput]:
    return [
        RawOutput(
            page_id=row["page_id"],
            text=row[kind]["text"],
            state=FinishState.OK,
            tokens=TokenCounts(output=row[kind]["tokens"]["output"]),
        )
        for row in read_jsonl(STREAMS, "evalkit.recorded_streams", 1)
    ]


def _simulated(deployment: str) -> dict[str, Mapping[str, Any]]:
    result = registry.load("simulator", "grid")(
        deployments=[deployment],
        in_flight=[PAGES_IN_FLIGHT],
        windows=[None],
        acceptances=[None],
        max_streams=[None],
        occupancies=[None],
        hardware=[None],
        pages=str(STREAMS),
        count=None,
        shape="closed",
        rate_per_s=1.0,
        seed=0,
    )
    row = result.rows[0].plain()
    return {
        name: {"value": row[name], "unit": unit, "definition": "of evalkit simulate", "provenance": row["provenance"]}
        for name, unit in UNITS.items()
    }


def judge_all(folder: Path, baselines: Path = BASELINES) -> list[GateResult]:
    """Build every system's run under a folder and judge it against its baseline."""
    config = load_config(baselines / "gates.toml")
    dataset = load_dataset(str(MINI))
    return [
        judge(read_baseline(baselines / f"{name}.json"), load_side([build_run(folder / name, name, dataset)]), config)
        for name in SYSTEMS
    ]


def update(folder: Path, baselines: Path = BASELINES) -> None:
    """Build every system's run under a folder and write it as the baseline."""
    dataset = load_dataset(str(MINI))
    for name in SYSTEMS:
        print(save_baseline(name, [build_run(folder / name, name, dataset)], baselines, replace=True))


def main() -> int:
    """Judge or update."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the baselines again")
    args = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="evalkit-self-gate-") as folder:
            if args.update:
                update(Path(folder))
                return 0
            results = judge_all(Path(folder))
    except EvalkitError as error:
        print(f"self_gate: {error}", file=sys.stderr)
        return error.exit_code
    print("\n\n".join(table(result) for result in results))
    return exit_code(heaviest([result.verdict for result in results]))


if __name__ == "__main__":
    sys.exit(main())
