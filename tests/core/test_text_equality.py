"""The answers of a system beside those of its baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.bench_summary import read_bench_summary, write_bench_summary
from evalkit.speedup import speedups
from evalkit.stages.infer import infer
from evalkit.store import read_json
from evalkit.text_equality import MAX_COMPARED_CHARS, TextEquality, compare
from evalkit.types import OutputFacts, System
from tests.fakes.chat_server import STATUS_500, Answer, Behaviour, FakeChatServer, page_jobs, serving
from tests.stages.test_infer import SYSTEM, settings

FAST = replace(SYSTEM, name="fast", baseline="fake", speculative=True)
OTHER_FORMAT = replace(FAST, output=OutputFacts(converter="hpd"))


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ({}, {"a": "x"}, (0, 0, None)),
        ({"a": "x"}, {"b": "x"}, (0, 0, None)),
        ({"a": "abcd", "b": "same"}, {"a": "abcx", "b": "same", "c": "y"}, (2, 1, (0.75 + 1) / 2)),
        ({"a": "z" * MAX_COMPARED_CHARS + "1"}, {"a": "z" * MAX_COMPARED_CHARS + "2"}, (1, 0, 1.0)),
    ],
    ids=["none", "no page in both", "one differs", "very long"],
)
def test_pages_in_both_are_compared(own: dict[str, str], other: dict[str, str], expected: tuple[object, ...]) -> None:
    assert compare("raw", own, other) == TextEquality("raw", *expected)  # type: ignore[arg-type]


def runs(folder: Path, fast: System) -> tuple[Path, Path]:
    jobs = page_jobs(folder / "images", 4)
    with serving(FakeChatServer(lambda page_id: Answer(("abcd",)))) as server:
        infer(folder / "fake", jobs, settings(server.url))
    changed: dict[str, Behaviour] = {"p000": Answer(("abcx",)), "p001": STATUS_500}
    with serving(FakeChatServer(lambda page_id: changed.get(page_id, Answer(("abcd",))))) as server:
        infer(folder / "fast", jobs, settings(server.url, system=fast))
    return folder / "fast", folder / "fake"


def markdown(run: Path, texts: dict[str, str]) -> None:
    (run / "convert").mkdir()
    rows = ['{"schema": "evalkit.predictions", "version": 1}']
    rows += [f'{{"page_id": "{page_id}", "markdown": "{text}", "blocks": []}}' for page_id, text in texts.items()]
    (run / "convert" / "predictions.jsonl").write_text("\n".join(rows) + "\n")


def test_raw_answers_of_one_format_are_in_the_summary_and_the_speed_up(tmp_path: Path) -> None:
    fast, base = runs(tmp_path, FAST)
    write_bench_summary(base)
    write_bench_summary(fast, baseline=base)
    found = read_json(fast / "bench/summary.json")["text_equality"]
    assert found == {"compared": "raw", "pages": 3, "equal": 2, "similarity": pytest.approx(2.75 / 3)}
    assert read_json(base / "bench/summary.json")["text_equality"] is None
    summaries = [summary for run in (base, fast) if (summary := read_bench_summary(run)) is not None]
    (row,) = speedups(summaries)
    assert row.text_equality == found
    assert row.accepted_length == summaries[1]["figures"]["accepted_length"]["value"]


def test_other_formats_are_compared_as_markdown_with_even_white_space(tmp_path: Path) -> None:
    fast, base = runs(tmp_path, OTHER_FORMAT)
    assert write_bench_summary(fast, baseline=base)["text_equality"] == TextEquality("markdown", 0, 0, None)
    markdown(fast, {"p000": "# a\\n\\nb", "p001": "x"})
    markdown(base, {"p000": "# a b ", "p001": "y", "p002": "z"})
    assert write_bench_summary(fast, baseline=base)["text_equality"] == TextEquality("markdown", 2, 1, 0.5)
