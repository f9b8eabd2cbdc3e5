"""Chat requests through the openai package: for hosted models and for the many small requests of two-stage parsers."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

import openai

from evalkit.types import FinishState, System, TokenCounts
from runners.chat_body import media_type

MAX_REASON = 300
TRUNCATING = frozenset({"length", "content_filter"})
SDK_FIELDS = frozenset(
    {"temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "max_completion_tokens", "stop"}
)


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What one request gave; `text` is None when there is no usable answer."""

    text: str | None
    state: FinishState
    reason: str | None = None
    finish_reason: str | None = None
    tokens: TokenCounts = field(default_factory=TokenCounts)


def messages_for(system: System, image: bytes, prompt: str) -> list[dict[str, Any]]:
    """The messages that ask a system about one image, in the order that it expects."""
    url = f"data:{media_type(image)};base64,{base64.b64encode(image).decode()}"
    picture: dict[str, Any] = {"type": "image_url", "image_url": {"url": url}}
    words: dict[str, Any] = {"type": "text", "text": prompt}
    content = [picture, words] if system.request.image_first else [words, picture]
    parts = [[part] for part in content] if system.request.split_messages else [content]
    messages: list[dict[str, Any]] = [{"role": "user", "content": part} for part in parts]
    if system.request.system_prompt:
        messages.insert(0, {"role": "system", "content": system.request.system_prompt})
    return messages


def body_for(system: System) -> dict[str, Any]:
    """Sampling options split into those that the package knows and further body fields."""
    sampling = dict(system.request.sampling)
    known = {key: sampling.pop(key) for key in list(sampling) if key in SDK_FIELDS}
    if system.request.max_tokens is not None:
        known["max_tokens"] = system.request.max_tokens
    return known | ({"extra_body": sampling} if sampling else {})


async def ask(
    client: openai.AsyncOpenAI, system: System, image: bytes, prompt: str, timeout_s: float, secret: str | None = None
) -> ChatReply:
    """One request, its failure as a state with a reason. `secret` never appears in a reason."""
    try:
        answer = await client.chat.completions.create(
            model=system.serve.model,
            messages=messages_for(system, image, prompt),  # type: ignore[arg-type]
            timeout=timeout_s,
            **body_for(system),
        )
    except openai.APITimeoutError:
        return ChatReply(None, FinishState.TIMEOUT, f"timeout: no complete answer in {timeout_s:g} s")
    except openai.APIStatusError as error:
        return ChatReply(None, FinishState.ERROR, _shown(f"http_status: {error.status_code} {error.message}", secret))
    except openai.APIConnectionError as error:
        return ChatReply(None, FinishState.ERROR, _shown(f"connection: {error.__cause__ or error}", secret))
    except (openai.OpenAIError, ValueError) as error:  # ValueError: a body that is not JSON
        return ChatReply(None, FinishState.ERROR, _shown(f"not_an_answer: {error}", secret))
    return _reply(answer)


def _reply(answer: Any) -> ChatReply:
    choices = getattr(answer, "choices", None)
    if not choices:
        return ChatReply(None, FinishState.ERROR, "not_an_answer: the answer has no choices")
    choice = choices[0]
    text = choice.message.content if choice.message is not None else None
    usage = getattr(answer, "usage", None)
    tokens = TokenCounts(getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None))
    if not isinstance(text, str) or not text.strip():
        return ChatReply(None, FinishState.INVALID, "empty: the answer has no text", choice.finish_reason, tokens)
    if choice.finish_reason in TRUNCATING:
        return ChatReply(
            text, FinishState.TRUNCATED, f"finish_reason {choice.finish_reason}", choice.finish_reason, tokens
        )
    return ChatReply(text, FinishState.OK, None, choice.finish_reason, tokens)


def _shown(text: str, secret: str | None) -> str:
    text = " ".join(text.split())
    return (text.replace(secret, "…") if secret else text)[:MAX_REASON]


def add_tokens(counts: list[TokenCounts]) -> TokenCounts:
    """The sum of token counts; None where any of them is not known."""

    def total(values: list[int | None]) -> int | None:
        return None if not values or any(value is None for value in values) else sum(value or 0 for value in values)

    return TokenCounts(total([count.input for count in counts]), total([count.output for count in counts]))
