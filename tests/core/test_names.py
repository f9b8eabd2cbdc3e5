"""Errors that list what is known, the registry of names, and signatures."""

from __future__ import annotations

import pytest

from evalkit import registry
from evalkit.errors import InvalidFileError, UserError, unknown_name
from evalkit.signature import Signature, differing_parts


def test_unknown_name_lists_the_known_ones_and_the_closest() -> None:
    message = str(unknown_name("metric", "table_ted", ["table_teds", "text_edit"]))
    assert message == "unknown metric 'table_ted'. Did you mean 'table_teds'? Known: table_teds, text_edit"


def test_all_problems_of_a_file_are_in_the_message() -> None:
    error = InvalidFileError("a.json", [f"problem {number}" for number in range(60)])
    assert str(error).startswith("a.json: 60 problems\n  - problem 0\n")
    assert str(error).endswith("… and 10 more")


def test_an_unknown_plugin_is_a_users_mistake() -> None:
    with pytest.raises(UserError, match=r"unknown metric 'nope'\. Known: "):
        registry.load("metric", "nope")
    with pytest.raises(UserError, match="unknown kind of plugin"):
        registry.names("nope")


def test_a_plugin_whose_package_is_missing_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BUILTIN["metric"], "ghost", "package_that_is_not_there.metric:METRIC")
    registry.targets.cache_clear()
    with pytest.raises(UserError, match="package_that_is_not_there"):
        registry.load("metric", "ghost")
    registry.targets.cache_clear()


SIGNATURE = Signature("text_edit", "page", "omnidocbench-1.6", "mini", "0" * 64, {"latex": "builtin"})


def test_signature_text() -> None:
    parts = str(SIGNATURE).split("|")
    assert parts[:5] == [
        "text_edit",
        "avg:page",
        "protocol:omnidocbench-1.6",
        "data:mini@000000000000",
        "latex:builtin",
    ]
    assert parts[5].startswith("evalkit:")


def test_differing_parts_name_what_differs() -> None:
    other = str(SIGNATURE).replace("avg:page", "avg:sample").replace("|latex:builtin", "")
    assert differing_parts(str(SIGNATURE), other) == ["avg: page != sample", "latex: builtin != -"]
    assert differing_parts(str(SIGNATURE), str(SIGNATURE)) == []
