"""Named deployments: model, hardware, fitted constants, decoding and limits, from the TOML files beside this."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from evalkit.errors import UserError, unknown_name
from runners.emulator.acceptance import Acceptance, most_tokens
from runners.emulator.cost import Constants, CostModel, Drafter, Hardware, Model, Tower
from runners.emulator.engine import Engine
from runners.emulator.pages import Content
from runners.emulator.variants import Crops, Forking, Limits, Variant


@dataclass(frozen=True, slots=True)
class Deployment:
    """Everything that decides how fast a page is decoded, but for the pages and the load."""

    name: str
    about: str
    variant: Variant
    cost: CostModel

    def engine(self, blocks: int | None = None, keep_log: bool = True) -> Engine:
        """A fresh engine."""
        return Engine(self.variant, self.cost, blocks, keep_log=keep_log)

    def with_limits(self, **changes: Any) -> Deployment:
        """The same with other engine limits."""
        return replace(self, variant=replace(self.variant, limits=replace(self.variant.limits, **changes)))

    def on_hardware(self, name: str) -> Deployment:
        """The same on other hardware, the fitted efficiencies kept."""
        return replace(self, cost=replace(self.cost, hardware=hardware(name)))

    def drafting(self, window: int | None = None, mean: float | None = None) -> Deployment:
        """The same with another draft window, or another mean of tokens a step (all contents scaled alike)."""
        if self.variant.drafter is None or self.cost.drafter is None:
            return self
        row = _table("deployments.toml")["acceptance"][self.variant.drafter]
        old_window = int(row["window"])
        window = old_window if window is None else window
        acceptance = _rescaled(row, window, mean)
        drafter = self.cost.drafter
        passes = drafter.passes if drafter.passes == 1 else window
        cost = replace(self.cost, drafter=replace(drafter, window=window, passes=passes))
        return replace(self, variant=replace(self.variant, acceptance=acceptance), cost=cost)


def deployment(name: str) -> Deployment:
    """A deployment by name. Raises UserError that lists the known ones."""
    rows = _table("deployments.toml")
    known = rows["deployments"]
    if name not in known:
        raise unknown_name("deployment", name, known)
    row = known[name]
    drafter = row.get("drafter")
    variant = Variant(
        name=name,
        forking=Forking(row.get("forking", "none")),
        drafter=drafter,
        acceptance=_acceptance(rows["acceptance"][drafter]) if drafter else None,
        limits=Limits(**row.get("limits", {})),
        branch_closing=row.get("branch_closing", 1),
        crops=Crops(**row["crops"]) if "crops" in row else Crops(),
    )
    cost = CostModel(
        hardware=hardware(row["hardware"]),
        model=model(row["model"]),
        constants=Constants(**_table("calibration.toml")[row["constants"]]),
        drafter=_drafter(drafter, rows) if drafter else None,
    )
    return Deployment(name, row["about"], variant, cost)


def deployment_names() -> list[str]:
    """Names of the deployments, in the order of the file."""
    return list(_table("deployments.toml")["deployments"])


def hardware(name: str) -> Hardware:
    """An accelerator by name."""
    rows = _table("hardware.toml")
    if name not in rows:
        raise unknown_name("hardware", name, rows)
    return Hardware(name, **rows[name])


def model(name: str) -> Model:
    """A model's shape by name."""
    rows = _table("models.toml")
    if name not in rows:
        raise unknown_name("model", name, rows)
    row = rows[name]
    return Model(name, Tower(**row["decoder"]), Tower(**row["encoder"]), row["vocabulary"], row.get("window_patches"))


def _acceptance(row: Mapping[str, Any]) -> Acceptance:
    means = {Content(kind): value for kind, value in row["means"].items()}
    return Acceptance.from_means(row["window"], means, row["decay"])


def _rescaled(row: Mapping[str, Any], window: int, mean: float | None) -> Acceptance:
    """Rates kept from the recorded window, then shifted to a wanted mean."""
    recorded = _acceptance(row)
    if mean is None:
        return recorded.with_window(window, row["decay"])
    most = most_tokens(window, row["decay"])
    if mean > most:
        raise UserError(f"{mean:g} tokens a step cannot be reached with {window} draft tokens: at most {most:.2f}")
    middle = sum(row["means"].values()) / len(row["means"])
    share = (mean - 1) / (middle - 1)
    means = {Content(kind): min(1 + (value - 1) * share, most) for kind, value in row["means"].items()}
    return Acceptance.from_means(window, means, row["decay"])


def _drafter(name: str, rows: Mapping[str, Any]) -> Drafter:
    return Drafter(name=name, window=rows["acceptance"][name]["window"], **rows["drafters"][name])


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
