"""The runner of two-stage parsers on any OpenAI-compatible server: layout request, crops, region requests, merge."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import openai
from PIL import Image

from evalkit.errors import UserError
from evalkit.types import FinishState, InferSettings, PageJob, RawOutput, RunFacts, System, TokenCounts
from runners.chat_sdk import ChatReply, add_tokens, ask
from runners.http_exchange import Endpoint
from runners.load import ordered, require_closed
from runners.server_facts import read_facts
from runners.two_stage.crops import crop, layout_image, png
from runners.two_stage.layouts import LAYOUTS, Region

Image.MAX_IMAGE_PIXELS = 300_000_000
PICTURES = {"image", "chart", "fig", "figure", "picture", "seal", "header_image", "footer_image"}
CONTAINERS = {"list", "image_block", "equation_block"}
KINDS = {
    "table": "table",
    "tab": "table",
    "equation": "formula",
    "equ": "formula",
    "formula": "formula",
    "code": "code",
    "algorithm": "code",
}


@dataclass(frozen=True, slots=True)
class RegionAnswer:
    """A region with what was read in it; `content` is None for one that was not asked for or has no answer."""

    region: Region
    kind: str
    content: str | None
    reason: str | None = None


class TwoStageRunner:
    """Drives a parser of two stages, so many pages at a time as the load has in flight."""

    def run(
        self, pages: Sequence[PageJob], settings: InferSettings, on_result: Callable[[RawOutput], None]
    ) -> RunFacts:
        """Parse every page once. Raises UserError before the first request for what cannot work."""
        system = settings.system
        require_closed(settings.load, system)
        if not settings.endpoints:
            raise UserError(f"{system.name} needs a server: give --endpoint URL")
        layout = str(system.serve.details.get("layout", ""))
        if layout not in LAYOUTS:
            raise UserError(f"system {system.name}: layout under [serve] must be one of {', '.join(LAYOUTS)}")
        facts = [read_facts(_endpoint(url), {}) for url in settings.endpoints]
        anchor_unix_s = time.time()
        drive = _Drive(settings, layout, on_result)
        asyncio.run(drive.run(ordered(pages, settings.order, settings.seed)))
        return RunFacts(
            mode="server",
            anchor_unix_s=anchor_unix_s,
            emulated=any(fact.emulated for fact in facts),
            server={
                "facts": [asdict(fact) for fact in facts],
                "endpoints": list(settings.endpoints),
                "model": system.serve.model,
                "layout": layout,
            },
            client={"requests": drive.requests},
        )


def _endpoint(url: str) -> Endpoint:
    try:
        return Endpoint.parse(url)
    except ValueError as error:
        raise UserError(f"endpoint {error}") from error


def _base_url(url: str) -> str:
    root = url.rstrip("/")
    return root if root.endswith("/v1") else f"{root}/v1"


class _Drive:
    def __init__(self, settings: InferSettings, layout: str, on_result: Callable[[RawOutput], None]) -> None:
        self._settings = settings
        self._system = settings.system
        self._read_layout = LAYOUTS[layout]
        self._on_result = on_result
        self._start_s = time.monotonic()
        self.requests = 0

    async def run(self, pages: Sequence[PageJob]) -> None:
        left = iter(pages)
        outstanding = [0] * len(self._settings.endpoints)
        async with AsyncExitStack() as stack:
            urls = [_base_url(url) for url in self._settings.endpoints]
            clients = [openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) for url in urls]
            for client in clients:
                await stack.enter_async_context(client)

            async def slot() -> None:
                for job in left:
                    chosen = outstanding.index(min(outstanding))
                    outstanding[chosen] += 1
                    output = await self._page(clients[chosen], job)
                    outstanding[chosen] -= 1
                    self._on_result(replace(output, extra={**output.extra, "endpoint": chosen}))

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._settings.load.in_flight, len(pages))):
                    group.create_task(slot())

    async def _page(self, client: openai.AsyncOpenAI, job: PageJob) -> RawOutput:
        send_s = self._now_s()
        try:
            page = await asyncio.to_thread(_open, Path(job.image))
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            return RawOutput(job.page.page_id, None, FinishState.ERROR, f"image: {error}")
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return await self._parse(client, job, page, send_s)
        except TimeoutError:
            reason = f"timeout: no complete page in {self._settings.timeout_s:g} s"
            return self._output(job, None, FinishState.TIMEOUT, reason, send_s, [], {})

    async def _parse(self, client: openai.AsyncOpenAI, job: PageJob, page: Image.Image, send_s: float) -> RawOutput:
        seen = await asyncio.to_thread(layout_image, page, self._system.request.image)
        reply = await self._ask(client, await asyncio.to_thread(png, seen), self._system.request.prompt)
        layout_end_s = self._now_s()
        if reply.text is None:
            return self._output(job, None, reply.state, f"layout: {reply.reason}", send_s, [reply.tokens], {})
        regions = self._read_layout(reply.text, seen.size)
        answers, replies = await self._recognise(client, page, regions)
        recognition_end_s = self._now_s()
        text = merged(answers)
        times = {
            "layout_s": round(layout_end_s - send_s, 6),
            "recognition_s": round(recognition_end_s - layout_end_s, 6),
            "merge_s": round(self._now_s() - recognition_end_s, 6),
        }
        state, reason = _page_state(answers, replies, regions)
        return self._output(job, text, state, reason, send_s, [reply.tokens, *(item.tokens for item in replies)], times)

    async def _recognise(
        self, client: openai.AsyncOpenAI, page: Image.Image, regions: Sequence[Region]
    ) -> tuple[list[RegionAnswer], list[ChatReply]]:
        """The regions in their order with their answers, asked for all at once."""
        tasks = [asyncio.ensure_future(self._region(client, page, region)) for region in regions]
        try:
            results = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return [answer for answer, _ in results], [reply for _, reply in results if reply is not None]

    async def _region(
        self, client: openai.AsyncOpenAI, page: Image.Image, region: Region
    ) -> tuple[RegionAnswer, ChatReply | None]:
        kind = KINDS.get(region.label, "text")
        if region.label in PICTURES | CONTAINERS:
            return RegionAnswer(region, "image", None), None
        prompt = region_prompt(self._system, kind)
        image = await asyncio.to_thread(lambda: png(crop(page, region, self._system.request.image)))
        reply = await self._ask(client, image, prompt)
        return RegionAnswer(region, kind, reply.text, reply.reason), reply

    async def _ask(self, client: openai.AsyncOpenAI, image: bytes, prompt: str) -> ChatReply:
        self.requests += 1
        return await ask(client, self._system, image, prompt, self._settings.timeout_s)

    def _output(
        self,
        job: PageJob,
        text: str | None,
        state: FinishState,
        reason: str | None,
        send_s: float,
        tokens: list[TokenCounts],
        extra: dict[str, Any],
    ) -> RawOutput:
        return RawOutput(
            page_id=job.page.page_id,
            text=text,
            state=state,
            reason=reason,
            arrival_s=send_s,
            send_s=send_s,
            last_s=self._now_s(),
            tokens=add_tokens(tokens),
            extra={**extra, "requests": len(tokens)},
        )

    def _now_s(self) -> float:
        return time.monotonic() - self._start_s


def _open(path: Path) -> Image.Image:
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        return image.convert("RGB")


def region_prompt(system: System, kind: str) -> str:
    """The prompt for a kind of region; text's where the system has none for it."""
    prompts = system.request.region_prompts
    return prompts.get(kind) or prompts["text"]


def merged(answers: Sequence[RegionAnswer]) -> str:
    """The raw output of a page: its regions in order as JSON, boxes in thousandths."""
    rows = [
        {
            "label": answer.region.label,
            "kind": answer.kind,
            "bbox": [round(number, 3) for number in answer.region.place],
            "continues": answer.region.continues,
            "content": answer.content,
        }
        for answer in answers
    ]
    return json.dumps({"regions": rows}, ensure_ascii=False)


def _page_state(
    answers: Sequence[RegionAnswer], replies: Sequence[ChatReply], regions: Sequence[Region]
) -> tuple[FinishState, str | None]:
    """A page is whole only if every region is: the worst of its requests decides."""
    if not regions:
        return FinishState.INVALID, "layout: no region in the answer"
    failed = [answer for answer in answers if answer.content is None and answer.kind != "image"]
    if failed:
        return FinishState.INVALID, f"{len(failed)} of {len(answers)} regions have no answer ({failed[0].reason})"
    if any(reply.state is FinishState.TRUNCATED for reply in replies):
        return FinishState.TRUNCATED, "a region's answer was cut"
    return FinishState.OK, None


RUNNER = TwoStageRunner()
