"""Runs vLLM's Python API over batches of page images, in the engine's own environment.

This file is started by that environment's Python, which knows nothing of evalkit: it imports the standard library and
vllm alone. It reads one JSON line a task from descriptor IN and answers with one JSON line on descriptor OUT, since
stdout belongs to the engine's log:

    {"engine": {…}, "sampling": {…}, "prompt": …, "system_prompt": …, "image_first": …}  ->  {"ready": version}
    {"pages": [[page_id, image file], …]}                                                 ->  {"outputs": […], …}
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from typing import Any

TYPES = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"BM", "bmp"), (b"RIFF", "webp"))
COUNTERS = {
    "vllm:generation_tokens": "generation_tokens",
    "vllm:prompt_tokens": "prompt_tokens",
    "vllm:prefix_cache_queries": "prefix_cache_queries",
    "vllm:prefix_cache_hits": "prefix_cache_hits",
    "vllm:spec_decode_num_drafts": "spec_decode_num_drafts",
    "vllm:spec_decode_num_draft_tokens": "spec_decode_num_draft_tokens",
    "vllm:spec_decode_num_accepted_tokens": "spec_decode_num_accepted_tokens",
}


def messages(task: dict[str, Any], image: bytes) -> list[dict[str, Any]]:
    """The chat of one page."""
    kind = next((name for start, name in TYPES if image.startswith(start)), "png")
    url = f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
    picture = {"type": "image_url", "image_url": {"url": url}}
    text = {"type": "text", "text": task["prompt"]}
    content = [picture, text] if task["image_first"] else [text, picture]
    chat: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if task["system_prompt"] is not None:
        chat.insert(0, {"role": "system", "content": task["system_prompt"]})
    return chat


def counters(engine: Any) -> dict[str, float]:
    """The engine's counters so far; {} for a release that does not tell."""
    values: dict[str, float] = {}
    for metric in engine.get_metrics() if hasattr(engine, "get_metrics") else ():
        name = COUNTERS.get(metric.name.removesuffix("_total"))
        if name is not None and hasattr(metric, "value"):
            values[name] = values.get(name, 0.0) + float(metric.value)
    return values


def run_batch(engine: Any, sampling: Any, task: dict[str, Any], pages: list[list[str]]) -> dict[str, Any]:
    """One batch: images are read and encoded before its clock starts."""
    chats, read, problems = [], [], {}
    for page_id, path in pages:
        try:
            with open(path, "rb") as file:
                chats.append(messages(task, file.read()))
            read.append(page_id)
        except OSError as error:
            problems[page_id] = f"image: {error.strerror}"
    before = counters(engine)
    start_s = time.monotonic()
    results = engine.chat(chats, sampling, use_tqdm=False) if chats else []
    end_s = time.monotonic()
    outputs = [
        {
            "page_id": page_id,
            "text": result.outputs[0].text,
            "finish_reason": result.outputs[0].finish_reason,
            "input": len(result.prompt_token_ids or ()),
            "output": len(result.outputs[0].token_ids),
            "cached": getattr(result, "num_cached_tokens", None),
        }
        for page_id, result in zip(read, results, strict=True)
    ]
    return {
        "outputs": outputs,
        "problems": problems,
        "start_s": start_s,
        "end_s": end_s,
        "before": before,
        "after": counters(engine),
    }


def main() -> None:
    """Serve tasks until the input closes."""
    source, sink = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")

    def answer(value: dict[str, Any]) -> None:
        sink.write(json.dumps(value) + "\n")
        sink.flush()

    task = json.loads(source.readline())
    try:
        import vllm

        engine = vllm.LLM(**task["engine"])
        sampling = vllm.SamplingParams(**task["sampling"])
    except Exception as error:
        answer({"failed": f"{type(error).__name__}: {error}"})
        raise
    answer({"ready": vllm.__version__})
    for line in source:
        try:
            answer(run_batch(engine, sampling, task, json.loads(line)["pages"]))
        except Exception as error:  # the door of one batch: its pages fail with this reason
            answer({"failed": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the engine's own threads are not waited for
