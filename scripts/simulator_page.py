"""Write docs/simulator.md: how the emulator and simulator work, and how far they are from what was published."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from runners.emulator.deployments import deployment, deployment_names
from runners.emulator.faults import FaultKind
from runners.emulator.published import TOLERANCE, Comparison, broken_orders, compare
from runners.emulator.simulator import SimulatedLoad, simulate
from runners.emulator.workload import synthetic_pages, workload_names

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "simulator.md"
EMULATOR = ROOT / "runners" / "emulator"


def main() -> int:
    """Simulate, then write the page."""
    rows = compare(lambda part: print(f"simulating {part} …", file=sys.stderr))
    text = (Path(__file__).parent / "simulator_page.md").read_text(encoding="utf-8")
    parts = {
        "CONSTANTS": constants(),
        "DEPLOYMENTS": deployments(),
        "WORKLOADS": workloads(),
        "FAULTS": faults(),
        "SUMMARY": summary(rows),
        "MISSES": misses(rows),
        "WHAT_IF": what_if(),
        "COMPARISON": comparison(rows),
    }
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def constants() -> str:
    """The fitted constants by deployment family."""
    rows = tomllib.loads((EMULATOR / "calibration.toml").read_text(encoding="utf-8"))
    names = list(next(iter(rows.values())))
    return table(["constant", *rows], [[name, *(f"{row[name]:.4g}" for row in rows.values())] for name in names])


def deployments() -> str:
    """Named deployments with what decides their speed."""
    found = [deployment(name) for name in deployment_names()]
    return table(
        ["deployment", "what it is", "model", "forking", "drafts", "N_max", "tokens an iteration"],
        [
            [
                f"`{item.name}`",
                item.about,
                item.cost.model.name,
                str(item.variant.forking),
                f"{item.variant.drafter}, K={item.variant.window}" if item.variant.drafter else "-",
                str(item.variant.limits.max_streams),
                str(item.variant.limits.token_budget),
            ]
            for item in found
        ],
    )


def workloads() -> str:
    """Named workloads."""
    rows = tomllib.loads((EMULATOR / "workload.toml").read_text(encoding="utf-8"))["workloads"]
    names = workload_names()
    return table(
        ["workload", "what it is", "prompt tokens", "output tokens of one trajectory", "looping pages"],
        [
            [
                f"`{name}`",
                rows[name]["about"],
                f"{rows[name]['input_tokens']:g}",
                f"{rows[name]['mean_tokens']:g}" if "mean_tokens" in rows[name] else "as drawn",
                f"{rows[name].get('looping', 0):.2%}",
            ]
            for name in names
        ],
    )


def faults() -> str:
    """Kinds of fault."""
    return ", ".join(f"`{kind}`" for kind in FaultKind)


def summary(rows: Sequence[Comparison]) -> str:
    """How many rows lie within the tolerance, and orders that are wrong."""
    lines = []
    for use in ("fitted", "predicted"):
        chosen = [row for row in rows if row.use == use]
        within = sum(abs(row.error) <= TOLERANCE for row in chosen)
        ratios = [row for row in chosen if row.unit == "x"]
        ratios_within = sum(abs(row.error) <= TOLERANCE for row in ratios)
        text = f"- {use}: {within} of {len(chosen)} rows within {TOLERANCE:.0%}"
        lines.append(text + (f"; of the {len(ratios)} ratios, {ratios_within}" if ratios else ""))
    wrong = broken_orders(rows)
    lines.append(f"- orders of systems that come out wrong: {', '.join(wrong) if wrong else 'none'}")
    return "\n".join(lines)


def misses(rows: Sequence[Comparison]) -> str:
    """Predicted rows outside the tolerance, by family."""
    missed = [row for row in rows if row.use == "predicted" and abs(row.error) > TOLERANCE]
    if not missed:
        return f"No predicted row is off by more than {TOLERANCE:.0%}."
    return "\n".join(f"- `{row.name}` {row.error:+.1%}" for row in missed)


def what_if() -> str:
    """PaDoc's gain at 64 in flight for other prompt lengths, and the longest bucket with fewer pages in flight."""
    lines = []
    for prompt in (2000, 2600, 3300):
        sequential, padoc = (
            simulate(deployment(name), synthetic_pages(name, 384, 0, input_tokens=prompt), SimulatedLoad(64)).pps
            for name in ("padoc-sequential", "padoc")
        )
        gain = f"{sequential:.2f} and {padoc:.2f} pages/s, {padoc / sequential:.2f}x"
        lines.append(f"- PaDoc at 64 in flight with a prompt of {prompt:,} tokens: {gain}")
    longest = [page for page in synthetic_pages("hpd", 40_000, 1) if 7000 <= page.sequential_tokens < 8000]
    for count in (16, 64):
        baseline, hpd = (
            simulate(deployment(name), longest[:count], SimulatedLoad(count)).pps_all
            for name in ("hpd-ar", "hpd-parsing")
        )
        lines.append(f"- HPD-Parsing's longest bucket, {count} pages, all in flight: {hpd / baseline:.2f}x")
    return "\n".join(lines)


def comparison(rows: Sequence[Comparison]) -> str:
    """Every row."""
    return table(
        ["name", "published", "predicted", "relative error", "use", "unit", "source"],
        [
            [
                f"`{row.name}`",
                f"{row.published:.4g}",
                f"{row.predicted:.4g}",
                f"{row.error:+.1%}",
                row.use,
                row.unit,
                row.source,
            ]
            for row in rows
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
