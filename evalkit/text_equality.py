"""Whether two systems that should answer alike do: their answers to the same pages side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from evalkit.store import read_jsonl
from evalkit.types import FinishState, Observation, RawOutput

MAX_COMPARED_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class TextEquality:
    """`compared` says which texts: raw, or markdown (white space made even) where the answers' formats differ.

    `similarity` is the mean over pages of 1 - edit distance / longer length, None without a page.
    """

    compared: str
    pages: int
    equal: int
    similarity: float | None


def text_equality(run: Path, baseline: Path, own: Observation, other: Observation) -> TextEquality:
    """Compare the pages that both runs answered: raw answers of one format, else what they were converted into."""
    if own.system.output.converter == other.system.output.converter:
        return compare("raw", raw_texts(own.outputs), raw_texts(other.outputs))
    return compare("markdown", _markdown(run), _markdown(baseline))


def compare(compared: str, own: Mapping[str, str], other: Mapping[str, str]) -> TextEquality:
    """Compare the texts of the pages that are in both; of very long ones the beginnings are measured."""
    pairs = [(text, other[page_id]) for page_id, text in own.items() if page_id in other]
    alike = [
        1.0 if one == two else Levenshtein.normalized_similarity(one[:MAX_COMPARED_CHARS], two[:MAX_COMPARED_CHARS])
        for one, two in pairs
    ]
    equal = sum(one == two for one, two in pairs)
    return TextEquality(compared, len(pairs), equal, sum(alike) / len(alike) if alike else None)


def raw_texts(outputs: Sequence[RawOutput]) -> dict[str, str]:
    """The answers of ok pages, as the system gave them."""
    return {output.page_id: output.text for output in outputs if output.state is FinishState.OK and output.text}


def _markdown(run: Path) -> dict[str, str]:
    """The converted pages of a run with even white space; {} before the convert stage."""
    path = run / "convert" / "predictions.jsonl"
    if not path.exists():
        return {}
    rows = read_jsonl(path, "evalkit.predictions", 1)
    return {row["page_id"]: " ".join(row["markdown"].split()) for row in rows if row.get("markdown")}
