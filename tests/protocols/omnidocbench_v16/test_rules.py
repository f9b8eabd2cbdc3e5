"""Every rule of the protocol: registered, described, and true to its example."""

from __future__ import annotations

import ast
import importlib
import pkgutil

import pytest

import evalkit.protocols.omnidocbench_v16 as protocol
from evalkit.protocols.omnidocbench_v16.rules import Rule, all_rules, rule

for module in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}."):
    importlib.import_module(module.name)


def literals(example: str) -> tuple[object, object] | None:
    """Input and output of an example, None for one in words."""
    before, _, after = example.partition(" -> ")
    try:
        return ast.literal_eval(before), ast.literal_eval(after)
    except (SyntaxError, ValueError):
        return None


EXAMPLES = [pytest.param(found, id=found.name) for found in all_rules() if literals(found.example)]


@pytest.mark.parametrize("found", EXAMPLES)
def test_example_is_true(found: Rule) -> None:
    pair = literals(found.example)
    assert pair is not None
    assert found.function(pair[0]) == pair[1]


@pytest.mark.parametrize("found", all_rules(), ids=lambda found: found.name)
def test_rule_says_what_it_does_and_where_it_comes_from(found: Rule) -> None:
    assert found.summary
    assert found.source


def test_extraction_and_normalising_come_first() -> None:
    stages = [found.stage for found in all_rules()]
    assert stages[0] == "extract"
    assert stages == sorted(stages, key=["extract", "normalize", "assemble", "match", "score", "aggregate"].index)


def test_docstring_becomes_record() -> None:
    @rule(stage="extract", order=1, example="'a' -> 'a'")
    def keep(text: str) -> str:
        """Keep the
        text.

        Source: somewhere.py.
        Quirk: it stays,
        even so.
        """
        return text

    found = next(one for one in all_rules() if one.function is keep)
    assert (found.summary, found.source, found.quirk) == ("Keep the text.", "somewhere.py.", "it stays, even so.")


def test_unknown_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown stage 'dream'"):
        rule(stage="dream", order=1)
