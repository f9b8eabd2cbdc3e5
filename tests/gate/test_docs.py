"""The gate's page: its example of gates.toml is read without a mistake."""

from __future__ import annotations

import re
from pathlib import Path

from evalkit.gating.config import load_config

PAGE = Path(__file__).parents[2] / "docs" / "gate.md"


def test_the_rules_on_the_page_are_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "gates.toml").write_text(example, encoding="utf-8")
    config = load_config(tmp_path / "gates.toml")
    assert (len(config.accuracy), len(config.speed)) == (3, 2)
