"""The runner for hosted models: a key from the environment, back-off at rate limits, cost a page and a budget.

It is not a speed measurement: requests are repeated and the service is shared, so figures carry the mode `hosted`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import openai

from evalkit.errors import UserError
from evalkit.types import FinishState, InferSettings, PageJob, RawOutput, RunFacts, System, TokenCounts
from runners.chat_body import UnreadableImageError
from runners.chat_sdk import ask
from runners.load import ordered, require_closed

MAX_RETRIES = 6  # the package waits as Retry-After says, else twice as long each time
TOKENS_A_PRICE = 1_000_000


class HostedApiRunner:
    """Asks a hosted model for every page, so many at a time as the load has in flight."""

    def run(
        self, pages: Sequence[PageJob], settings: InferSettings, on_result: Callable[[RawOutput], None]
    ) -> RunFacts:
        """Send every page, until the budget is spent. Raises UserError without a key or an address."""
        system = settings.system
        require_closed(settings.load, system)
        key = _key(system)
        base_url = settings.endpoints[0] if settings.endpoints else str(system.serve.details.get("base_url", ""))
        if not base_url:
            raise UserError(f"system {system.name}: no address; set base_url under [serve] or give --endpoint")
        anchor_unix_s = time.time()
        drive = _Drive(settings, key, base_url, on_result)
        asyncio.run(drive.run(ordered(pages, settings.order, settings.seed)))
        return RunFacts(
            mode="hosted",
            anchor_unix_s=anchor_unix_s,
            server={"base_url": base_url, "model": system.serve.model},
            client={"cost_usd": drive.purse.spent_usd, "budget_usd": drive.purse.budget_usd},
            notes=tuple(drive.notes),
        )


def _key(system: System) -> str:
    name = system.request.api_key_env
    if name is None:
        return "none"
    key = os.environ.get(name)
    if not key:
        raise UserError(f"{system.name} needs a key in the environment variable {name}, which is not set")
    return key


@dataclass(slots=True)
class Purse:
    """What requests have cost so far, by the system's prices in USD for a million tokens."""

    input_price: float | None
    output_price: float | None
    budget_usd: float | None
    spent_usd: float | None = field(init=False)

    def __post_init__(self) -> None:
        self.spent_usd = None if self.input_price is None or self.output_price is None else 0.0

    def pay(self, tokens: TokenCounts) -> float | None:
        """Add a request; its cost in USD, None where prices or counts are not known."""
        if self.spent_usd is None or tokens.input is None or tokens.output is None:
            return None
        cost = (tokens.input * (self.input_price or 0) + tokens.output * (self.output_price or 0)) / TOKENS_A_PRICE
        self.spent_usd += cost
        return cost

    @property
    def is_empty(self) -> bool:
        """Whether the budget is spent."""
        return self.budget_usd is not None and (self.spent_usd or 0.0) >= self.budget_usd


def purse_of(system: System) -> Purse:
    """The purse by a system's `price_input_usd`, `price_output_usd` and `budget_usd`.

    Raises UserError for a budget without prices, since it could not be kept.
    """
    details = system.serve.details

    def number(name: str) -> float | None:
        value = details.get(name)
        return float(value) if isinstance(value, int | float) else None

    purse = Purse(number("price_input_usd"), number("price_output_usd"), number("budget_usd"))
    if purse.budget_usd is not None and purse.spent_usd is None:
        raise UserError(f"system {system.name}: budget_usd needs price_input_usd and price_output_usd under [serve]")
    return purse


class _Drive:
    def __init__(
        self, settings: InferSettings, key: str, base_url: str, on_result: Callable[[RawOutput], None]
    ) -> None:
        self._settings = settings
        self._key = key
        self._base_url = base_url
        self._on_result = on_result
        self._start_s = time.monotonic()
        self.purse = purse_of(settings.system)
        self.notes: list[str] = []

    async def run(self, pages: Sequence[PageJob]) -> None:
        left = iter(pages)
        async with openai.AsyncOpenAI(api_key=self._key, base_url=self._base_url, max_retries=MAX_RETRIES) as client:

            async def slot() -> None:
                for job in left:
                    if self.purse.is_empty:
                        return
                    self._on_result(await self._page(client, job))

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._settings.load.in_flight, len(pages))):
                    group.create_task(slot())
        if self.purse.is_empty:
            self.notes.append(f"stopped: the budget of {self.purse.budget_usd:g} USD is spent; raise it to go on")

    async def _page(self, client: openai.AsyncOpenAI, job: PageJob) -> RawOutput:
        send_s = time.monotonic() - self._start_s
        system = self._settings.system
        try:
            image = Path(job.image).read_bytes()
            reply = await ask(client, system, image, system.request.prompt, self._settings.timeout_s, self._key)
        except (OSError, UnreadableImageError) as error:
            return RawOutput(job.page.page_id, None, FinishState.ERROR, f"image: {error}")
        last_s = time.monotonic() - self._start_s
        cost = self.purse.pay(reply.tokens)
        return RawOutput(
            page_id=job.page.page_id,
            text=reply.text,
            state=reply.state,
            reason=reply.reason,
            finish_reason=reply.finish_reason,
            arrival_s=send_s,
            send_s=send_s,
            last_s=last_s,
            tokens=reply.tokens,
            extra={} if cost is None else {"cost_usd": cost},
        )


RUNNER = HostedApiRunner()
