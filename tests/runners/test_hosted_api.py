"""Hosted models: the key is taken from the environment and never shown, rate limits are waited out, a budget holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UserError
from evalkit.store import dumps
from evalkit.types import FinishState, InferSettings, Load, RawOutput, RunFacts, System
from runners.hosted_api import RUNNER
from runners.systems import load_system
from tests.fakes.prompt_server import Asked, prompt_server
from tests.runners.test_two_stage import jobs

KEY = "sk-very-secret"


def system(url: str, **details: Any) -> System:
    found = load_system("gpt-5.2")
    return replace(found, serve=replace(found.serve, details={"base_url": url, **details}))


def run(asked: System, tmp_path: Path, pages: int, in_flight: int = 1) -> tuple[list[RawOutput], RunFacts]:
    outputs: list[RawOutput] = []
    settings = InferSettings(system=asked, load=Load(in_flight=in_flight), timeout_s=20)
    return outputs, RUNNER.run(jobs(tmp_path, pages), settings, outputs.append)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_pages_are_asked_with_key_and_prompt_first(tmp_path: Path) -> None:
    with prompt_server(lambda _: "```markdown\n# T\n```") as server:
        outputs, facts = run(system(server.url), tmp_path, 2, in_flight=2)
    assert [output.state for output in outputs] == [FinishState.OK] * 2
    assert facts.mode == "hosted"
    assert server.asked[0].key == f"Bearer {KEY}"
    messages = server.asked[0].body["messages"]
    assert [part["type"] for message in messages for part in message["content"]] == ["text", "image_url"]
    assert len(messages) == 2


def test_a_rate_limit_is_waited_out(tmp_path: Path) -> None:
    refused: list[int] = []

    def limited(_: Asked) -> str | int:
        refused.append(429)
        return 429 if len(refused) < 3 else "text"

    with prompt_server(limited) as server:
        (output,), _ = run(system(server.url), tmp_path, 1)
    assert output.state is FinishState.OK
    assert len(refused) == 3


def test_the_key_is_in_no_reason_and_no_record(tmp_path: Path) -> None:
    with prompt_server(lambda _: 401) as server:
        (output,), facts = run(system(server.url), tmp_path, 1)
    assert output.state is FinishState.ERROR
    assert "401" in (output.reason or "")
    assert KEY not in dumps([output, facts])


def test_the_budget_ends_the_run_and_the_rest_is_left(tmp_path: Path) -> None:
    # 100 input tokens and 10 output tokens a page: 0.0004 USD
    prices = {"price_input_usd": 3.0, "price_output_usd": 10.0, "budget_usd": 0.0008}
    with prompt_server(lambda _: "text") as server:
        outputs, facts = run(system(server.url, **prices), tmp_path, 5)
    assert len(outputs) == 2
    assert outputs[0].extra["cost_usd"] == pytest.approx(0.0004)
    assert facts.client["cost_usd"] == pytest.approx(0.0008)
    assert "budget" in facts.notes[0]


def test_a_budget_without_prices_is_a_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="price_input_usd"):
        run(system("http://127.0.0.1:1/v1", budget_usd=1.0), tmp_path, 1)


def test_a_missing_key_names_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        run(system("http://127.0.0.1:1/v1"), tmp_path, 1)
