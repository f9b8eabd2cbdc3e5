"""Run folders as the stages leave them, made from random numbers: figures that measure nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from evalkit.store import write_json, write_jsonl
from evalkit.types import (
    Figure,
    FinishState,
    MatchedPair,
    MetricSummary,
    PageScore,
    PairScore,
    Provenance,
    RawOutput,
    RunRecord,
    Summary,
    TokenCounts,
    ValidityCheck,
)

SIGNATURE = "overall|avg:page|protocol:omnidocbench-1.6|data:made@abc|evalkit:0.1.0"
METRICS = ("text_edit", "table_teds", "table_teds_s", "formula_cdm", "formula_edit", "read_order_edit")
LANGUAGES = ("english", "simplified_chinese", "en_ch_mixed")
SENTENCE = "The river reached its highest level on the second day and fell within a week. "
TABLE = "<table><tr><td>Station</td><td>Level</td></tr><tr><td>{}</td><td>4.2</td></tr></table>"


@dataclass(frozen=True, slots=True)
class Words:
    """Texts that a made run holds where a real one holds what a parser or a data set said."""

    title: str = "Made system"
    page_id: str = "page_{}.png"
    text: str = SENTENCE
    table: str = TABLE
    formula: str = r"\frac{{a_{}}}{{b}}"
    raw: str = "<BLOCK>text [0, 0, 10, 10]<CHILD>" + SENTENCE
    group: str = "book"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MadeRun:
    """What a made run is. `good` from 0 to 1 is how close its scores are to perfect."""

    name: str = "made"
    pages: int = 12
    seed: int = 0
    good: float = 0.8
    emulated: bool = False
    broken_rules: tuple[str, ...] = ()
    signature: str = SIGNATURE
    speculative: bool = True
    pairs_per_page: int = 4
    words: Words = field(default_factory=Words)


def made_dataset(folder: Path, pages: int, words: Words | None = None, *, images: bool = True) -> Path:
    """An annotation file with a text, a table and a formula on each page, and its images; returns the file."""
    words = words or Words()
    rows = [_annotated(page_id_of(words, number), words) for number in range(pages)]
    write_json(folder / "made.json", rows)
    if images:
        (folder / "images").mkdir(exist_ok=True)
        for number in range(pages):
            name = page_id_of(words, number)
            if "/" not in name:
                Image.new("RGB", (200, 280), (250, 250, 250)).save(folder / "images" / name, "PNG")
    return folder / "made.json"


def page_id_of(words: Words, number: int) -> str:
    """The id of a page."""
    return words.page_id.replace("{}", str(number))


def _annotated(page_id: str, words: Words) -> dict[str, Any]:
    def block(kind: str, order: int, **content: str) -> dict[str, Any]:
        top = 40 * order
        poly = [10, top, 190, top, 190, top + 30, 10, top + 30]
        return {"category_type": kind, "poly": poly, "order": order, "anno_id": order, "ignore": False, **content}

    blocks = [
        block("text_block", 1, text=words.text),
        block("table", 2, html=words.table.replace("{}", "A")),
        block("equation_isolated", 3, latex=words.formula.replace("{}", "1").replace("{{", "{").replace("}}", "}")),
    ]
    info = {"page_no": 0, "height": 280, "width": 200, "image_path": page_id, "page_attribute": {"language": "english"}}
    return {"layout_dets": blocks, "extra": {"relation": []}, "page_info": info}


def make_run(folder: Path, dataset: Path, made: MadeRun) -> Path:
    """Write every file of a run that has come through all stages; returns its folder."""
    chance = random.Random(f"{made.name}-{made.seed}")
    ids = [page_id_of(made.words, number) for number in range(made.pages)]
    pages = [_page(page_id, number, made, chance) for number, page_id in enumerate(ids)]
    write_json(folder / "run.json", _record(made, dataset))
    write_json(folder / "evaluate" / "summary.json", _summary(made, pages))
    write_jsonl(folder / "evaluate" / "page_scores.jsonl", "evalkit.page_scores", 1, pages)
    pairs = [pair for page_id in ids for pair in _pairs(page_id, made, chance)]
    write_jsonl(folder / "evaluate" / "pairs.jsonl", "evalkit.pairs", 1, (pair for pair, _ in pairs))
    scores = (
        {"pair": number, "page_id": pair.page_id, "element": pair.element, "scores": score}
        for number, (pair, score) in enumerate(pairs)
    )
    write_jsonl(folder / "evaluate" / "pair_scores.jsonl", "evalkit.pair_scores", 1, scores)
    write_jsonl(folder / "infer" / "requests.jsonl", "evalkit.requests", 1, _outputs(ids, made, chance))
    write_jsonl(folder / "convert" / "predictions.jsonl", "evalkit.predictions", 1, _predictions(ids, made))
    write_json(folder / "bench" / "summary.json", _bench(made, chance))
    return folder


def _record(made: MadeRun, dataset: Path) -> RunRecord:
    system = {
        "name": made.name,
        "title": made.words.title,
        "request": {"prompt": made.words.text},
        "serve": {"launcher": "vllm", "flags": {"max-num-seqs": 256}},
    }
    data = {"name": "made", "sha256": "abc", "pages": made.pages, "source": str(dataset), "limit": None}
    return RunRecord(
        made.name, made.words.title, "2031-02-03T04:05:06+00:00", "0.1.0", "evalkit bench --systems made", data, system,
        made.emulated, {"cpu": "made", "cores": 2}, {"numpy": "2"},
    )  # fmt: skip


def _page(page_id: str, number: int, made: MadeRun, chance: random.Random) -> PageScore:
    def near(perfect: float) -> float:
        off = (1 - made.good) * chance.random()
        return perfect - off if perfect else off

    values: dict[str, float | None] = {"text_edit": near(0), "read_order_edit": near(0)}
    values |= {name: near(1) if number % 2 else None for name in ("table_teds", "table_teds_s")}
    values |= {"formula_cdm": near(1) if number % 3 else None, "formula_edit": near(0) if number % 3 else None}
    groups = {"language": LANGUAGES[number % 3], "data_source": made.words.group}
    return PageScore(page_id, values, "ok", (made.words.reason,) if made.words.reason else (), groups)


def _mean(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def _summary(made: MadeRun, pages: Sequence[PageScore]) -> Summary:
    means = {name: _mean(page.values[name] for page in pages) for name in METRICS}
    metrics = {
        name: MetricSummary(mean, mean, pages=sum(page.values[name] is not None for page in pages), samples=len(pages))
        for name, mean in means.items()
    }
    parts = (means["text_edit"], means["table_teds"], means["formula_cdm"])
    text, teds, cdm = parts
    overall = None if text is None or teds is None or cdm is None else (1 - text + teds + cdm) * 100 / 3
    groups = {"page": {name: _groups(pages, name) for name in METRICS}}
    counts = {"ok_pages": len(pages), "missing_pages": 0}
    return Summary(overall, len(pages), "omnidocbench-1.6", made.signature, metrics, groups, counts)


def _groups(pages: Sequence[PageScore], name: str) -> Mapping[str, float | None]:
    keys = sorted({(attribute, value) for page in pages for attribute, value in page.groups.items()})
    return {
        f"{attribute}: {value}": _mean(page.values[name] for page in pages if page.groups[attribute] == value)
        for attribute, value in keys
    }


def _pairs(page_id: str, made: MadeRun, chance: random.Random) -> Iterable[tuple[MatchedPair, dict[str, PairScore]]]:
    for number in range(made.pairs_per_page):
        kind = ("text_block", "table", "display_formula", "reading_order")[number % 4]
        yield _pair(page_id, number, kind, made, chance.random() * (1 - made.good))


def _pair(page_id: str, number: int, kind: str, made: MadeRun, off: float) -> tuple[MatchedPair, dict[str, PairScore]]:
    words = made.words
    sides = {
        "text_block": (SENTENCE, words.text),
        "table": (TABLE.format("A"), words.table.replace("{}", "B")),
        "display_formula": (r"\frac{a}{b}", words.formula.replace("{}", "2").replace("{{", "{").replace("}}", "}")),
        "reading_order": ("[1, 2, 3]", "[1, 3, 2]"),
    }
    scores = {
        "text_block": {"text_edit": PairScore(off)},
        "table": {"table_teds": PairScore(1 - off), "table_teds_s": PairScore(None, words.reason or "too_large")},
        "display_formula": {"formula_cdm": PairScore(1 - off), "formula_edit": PairScore(off)},
        "reading_order": {"read_order_edit": PairScore(off)},
    }
    gt, pred = sides[kind]
    pair = MatchedPair(page_id, kind, (number,), (number,), gt, pred, gt, pred, "assignment", kind, words.group)
    return pair, scores[kind]


def _outputs(ids: Sequence[str], made: MadeRun, chance: random.Random) -> Iterable[RawOutput]:
    for number, page_id in enumerate(ids):
        extra = {"server_metrics": {"made": {"provenance": "made", "arrival_s": 0.0, "branches": _branches()}}}
        send_s = 0.1 * number
        yield RawOutput(
            page_id, made.words.raw, FinishState.OK, made.words.reason, "stop", send_s, send_s, send_s + 0.2,
            send_s + 1 + chance.random(), TokenCounts(100, 200 + number, 0), extra,
        )  # fmt: skip


def _branches() -> list[dict[str, Any]]:
    layout = {
        "index": 0,
        "fork_after_tokens": None,
        "tokens": 40,
        "steps": 20,
        "born_s": 0,
        "started_s": 0,
        "ended_s": 2,
    }
    forks = [
        {"index": 1 + n, "fork_after_tokens": 9, "tokens": 9, "steps": 5, "born_s": n, "started_s": n, "ended_s": n + 1}
        for n in range(2)
    ]
    return [layout, *forks]


def _predictions(ids: Sequence[str], made: MadeRun) -> Iterable[dict[str, Any]]:
    for page_id in ids:
        box = {"x1": 8, "y1": 38, "x2": 188, "y2": 72}
        blocks = [{"kind": made.words.group, "text": made.words.text, "bbox": box}]
        row = json.loads(json.dumps({"blocks": blocks}))
        yield {"page_id": page_id, "markdown": made.words.text, "blocks": row["blocks"], "reason": made.words.reason}


def _bench(made: MadeRun, chance: random.Random) -> dict[str, Any]:
    source = Provenance.EMULATED if made.emulated else Provenance.MEASURED
    values = {
        "pps": (chance.uniform(0.5, 5), "pages/s"), "tps": (chance.uniform(500, 5000), "tokens/s"),
        "latency_p50_s": (chance.uniform(1, 9), "s"), "latency_p95_s": (None, "s"),
        "sequential_tokens_per_page": (1000.0, "tokens"), "path_tokens_per_page": (500.0, "tokens"),
        "path_steps_per_page": (90.0, "steps"), "accepted_length": (5.2, "tokens/step"),
    }  # fmt: skip
    figures = {
        name: Figure(
            name, value, unit, f"definition of {name}", source, None if value is not None else "too few pages",
            (value * 0.9, value * 1.1) if value is not None else None, made.pages,
            {"by_position": [9, 8, 6]} if name == "accepted_length" else {},
        )
        for name, (value, unit) in values.items()
    }  # fmt: skip
    rows = [_bucket(name, made.pages // 2, chance, source) for name in ("0-1000", "1000-2000")]
    share = "share of the pages that came to an end"
    check = ValidityCheck("coverage", not made.broken_rules, 1.0, 1.0, share, at_least=True)
    return {
        "version": 1, "system": made.name, "title": made.words.title, "mode": "server", "provenance": source,
        "valid": not made.broken_rules, "broken_rules": made.broken_rules, "checks": [check], "advice": [],
        "notes": [made.words.reason] if made.words.reason else [],
        "load": {"shape": "closed", "in_flight": 16, "rate_per_s": None}, "pages": made.pages,
        "states": {"ok": made.pages}, "reasons": {}, "figures": figures,
        "buckets": {"hpd": {"edges": [0, 1000], "by_own_length": rows, "by_baseline_length": None}},
        "groups": {"content": rows[:1]}, "speedup": rows[0]["speedup"], "server": {"endpoints": [made.words.text]},
        "client": {}, "counters": {
            "request_decode_time_seconds_count": 10, "request_decode_time_seconds_sum": 30.0,
            "request_prefill_time_seconds_sum": 4.0,
        },
    }  # fmt: skip


def _bucket(name: str, pages: int, chance: random.Random, source: Provenance) -> dict[str, Any]:
    speedup = {"pages": pages, "geometric_mean": chance.uniform(1, 3), "interval": [1.1, 3.2], "median": 2.0,
               "quartiles": [1.5, 2.5]}  # fmt: skip
    return {
        "name": name, "pages": pages, "ok": pages, "truncated": 0, "output_tokens": 700.0, "steps": 90.0,
        "latency_mean_s": chance.uniform(1, 9), "latency_p50_s": None, "request_throughput": 3.0, "speedup": speedup,
        "provenance": source,
    }  # fmt: skip
