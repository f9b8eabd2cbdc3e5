"""Small made-up inputs with the official function's result, one JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def official_rows(folder: str) -> list[Any]:
    """Parameters (function, input, official result) of official_values.jsonl in a folder beside this file."""
    path = Path(__file__).parent / folder / "official_values.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        pytest.param(row["function"], row["input"], row["official"], id=f"{row['function']}-{number}")
        for number, row in enumerate(rows)
    ]
