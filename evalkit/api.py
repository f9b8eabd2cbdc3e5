"""What the command line does, as calls that return values."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from evalkit.dataset import Dataset, load_dataset
from evalkit.stages import evaluate as evaluate_stage
from evalkit.types import Summary


def evaluate(
    predictions: str | Path,
    dataset: str | Path | Dataset,
    *,
    out: str | Path | None = None,
    cdm: bool = True,
    workers: int | None = None,
    protocol: str = evaluate_stage.DEFAULT_PROTOCOL,
    options: Mapping[str, str] | None = None,
) -> Summary:
    """Score a folder of `<page>.md` files against a data set (name, JSON file, folder or loaded).

    `out` is the run folder to write; None keeps nothing on disk. With `cdm=False` formulas have no CDM and there
    is no overall figure. Raises UserError for what cannot be read, ToolchainError when CDM has no working TeX.
    """
    loaded = dataset if isinstance(dataset, Dataset) else load_dataset(str(dataset))
    if out is not None:
        return evaluate_stage.evaluate(
            Path(predictions), loaded, Path(out), cdm=cdm, workers=workers, protocol=protocol, options=options
        )
    with tempfile.TemporaryDirectory(prefix="evalkit-evaluate-") as folder:
        return evaluate_stage.evaluate(
            Path(predictions), loaded, Path(folder), cdm=cdm, workers=workers, protocol=protocol, options=options
        )
