"""The page of the protocol's rules is current, and complete."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from evalkit.protocols.omnidocbench_v16.rules import all_rules

SCRIPT = Path(__file__).parents[2] / "scripts" / "protocol_docs.py"


def load_script():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("protocol_docs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current() -> None:
    script = load_script()
    assert script.TARGET.read_text(encoding="utf-8") == script.page(), "run: python scripts/protocol_docs.py"


def test_every_rule_has_a_name_of_its_own_a_source_and_an_example() -> None:
    load_script()
    rules = all_rules()
    names = [rule.name for rule in rules]
    assert sorted(names) == sorted(set(names))
    assert [rule.name for rule in rules if not rule.source] == []
    assert [rule.name for rule in rules if not rule.example] == []
