"""Rules of measurement hygiene as named checks: a run that breaks one is invalid unless the user allows that rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from evalkit.types import Observation, ValidityCheck
from metrics.drive import counter_delta, finished, interrupted, ok
from metrics.latency import latency_s, ttft_s
from metrics.quantiles import quantile

COVERAGE_MIN = 1.0
SESSIONS_MAX = 1
CACHE_HITS_MAX = 0.01
TOKEN_DISAGREEMENT_MAX = 0.05
TOKEN_DISAGREEMENT_WARN = 0.01
LAG_SHARE_MAX = 0.05
HEADROOM_MIN = 5.0
WAVES_MIN = 4
ALONE_EQUAL_MIN = 1.0
ALONE_SIMILARITY_MIN = 0.5


def checks(observation: Observation, allowed: Collection[str] = ()) -> list[ValidityCheck]:
    """Every rule with its value and limit, in a fixed order."""
    found = [
        _coverage(observation),
        _uninterrupted(observation),
        *([] if observation.facts is None or observation.facts.mode != "server" else _of_a_server(observation)),
    ]
    return [replace(check, allowed=check.name in allowed) for check in found]


def names() -> list[str]:
    """The names of all rules."""
    return [
        "coverage",
        "uninterrupted",
        "cold_prefix_cache",
        "token_counts_agree",
        "retokenised_counts_agree",
        "client_lag",
        "client_headroom",
        "server_as_asked",
        "server_to_itself",
        "same_alone",
    ]


def invalidates(check: ValidityCheck) -> bool:
    """Whether a check makes its run invalid."""
    return check.passed is False and not check.allowed and not check.advises


def advice(observation: Observation) -> list[str]:
    """What does not forbid a figure and yet should be known beside it."""
    lines: list[str] = []
    load, count = observation.load, len(observation.outputs)
    if load.shape == "closed" and count < WAVES_MIN * load.in_flight:
        lines.append(
            f"{count} pages are fewer than {WAVES_MIN} x {load.in_flight} in flight: "
            "the ramp at the start and the tail at the end weigh in"
        )
    for value, name in (
        (_token_disagreement(observation), "counter"),
        (_retokenised(observation), "re-tokenised text"),
    ):
        if value is not None and TOKEN_DISAGREEMENT_WARN < value <= TOKEN_DISAGREEMENT_MAX:
            lines.append(f"usage and {name} disagree on the output tokens by {value:.1%}")
    alone = _client(observation).get("alone")
    if alone and alone["differing"]:
        lines.append(
            f"{len(alone['differing'])} of {alone['pages']} pages asked again alone were answered differently "
            f"(similarity {alone['similarity']:.3f}): the answers depend on what runs beside them"
        )
    return lines


def _of_a_server(observation: Observation) -> list[ValidityCheck]:
    return [
        _cold_cache(observation),
        _limit(
            "token_counts_agree",
            _token_disagreement(observation),
            TOKEN_DISAGREEMENT_MAX,
            "output tokens by usage and by the server's counter differ by at most this share",
        ),
        _limit(
            "retokenised_counts_agree",
            _retokenised(observation),
            TOKEN_DISAGREEMENT_MAX,
            "output tokens by usage and by tokenizing the answers again differ by at most this share",
        ),
        _client_lag(observation),
        _headroom(observation),
        _server_as_asked(observation),
        _to_itself(observation),
        _same_alone(observation),
    ]


def _limit(name: str, value: float | None, limit: float, explanation: str) -> ValidityCheck:
    return ValidityCheck(name, None if value is None else value <= limit, value, limit, explanation)


def _coverage(observation: Observation) -> ValidityCheck:
    share = len(finished(observation.outputs)) / observation.pages if observation.pages else 0.0
    text = "share of the pages whose answer came to an end, in the drive that is measured"
    return ValidityCheck("coverage", share >= COVERAGE_MIN, share, COVERAGE_MIN, text, at_least=True)


def _uninterrupted(observation: Observation) -> ValidityCheck:
    text = "the run was made in so many drives; rates need one"
    passed = observation.sessions <= SESSIONS_MAX
    return ValidityCheck("uninterrupted", passed, observation.sessions, SESSIONS_MAX, text)


def _cold_cache(observation: Observation) -> ValidityCheck:
    text = "share of prompt tokens found in the prefix cache, which inflates speed when it comes from other pages"
    cached = [output.tokens.cached_input for output in observation.outputs]
    inputs = [output.tokens.input for output in observation.outputs]
    if any(cached) or (cached and all(count is not None for count in cached)):
        total = sum(count or 0 for count in inputs)
        share = sum(count or 0 for count in cached) / total if total else None
        return _limit("cold_prefix_cache", share, CACHE_HITS_MAX, text + " (by usage)")
    hits = counter_delta(observation, "prefix_cache_hits")
    queries = counter_delta(observation, "prefix_cache_queries")
    share = hits / queries if hits is not None and queries else None
    return _limit("cold_prefix_cache", share, CACHE_HITS_MAX, text + " (by counter)")


def _token_disagreement(observation: Observation) -> float | None:
    counted = counter_delta(observation, "generation_tokens")
    used = [output.tokens.output for output in observation.outputs]
    known = sum(count for count in used if count is not None)
    if not counted or not known or interrupted(observation):
        return None
    if any(count is None for count in used):  # failed pages: the server counted tokens whose usage never came
        return max(0.0, known - counted) / counted
    return abs(known - counted) / counted


def _retokenised(observation: Observation) -> float | None:
    facts = observation.facts
    lengths = {branch.page_id: branch.total for branch in facts.branches} if facts is not None else {}
    pairs = [
        (output.tokens.output, lengths[output.page_id])
        for output in ok(observation.outputs)
        if output.page_id in lengths and output.tokens.output
    ]
    used = sum(count for count, _ in pairs)
    return abs(used - sum(total for _, total in pairs)) / used if used else None


def _client(observation: Observation) -> Mapping[str, Any]:
    return observation.facts.client if observation.facts is not None else {}


def _client_lag(observation: Observation) -> ValidityCheck:
    good = ok(observation.outputs)
    first_s = sorted(value for output in good if (value := ttft_s(output)) is not None)
    whole_s = sorted(value for output in good if (value := latency_s(output)) is not None)
    base_s = first_s or whole_s
    lag_s = _client(observation).get("lag_p99_s")
    share = lag_s / quantile(base_s, 0.5) if base_s and lag_s is not None and quantile(base_s, 0.5) > 0 else None
    text = "p99 lag of the client's event loop / median time to first token (latency where not streamed)"
    return _limit("client_lag", share, LAG_SHARE_MAX, text)


def _headroom(observation: Observation) -> ValidityCheck:
    stub = _client(observation).get("stub_pps")
    finished_pages = finished(observation.outputs)
    sends_s = [output.send_s for output in finished_pages if output.send_s is not None]
    ends_s = [output.last_s for output in finished_pages if output.last_s is not None]
    length_s = max(ends_s) - min(sends_s) if sends_s and ends_s else 0.0
    one_clock = length_s > 0 and not interrupted(observation)
    ratio = stub / (len(finished_pages) / length_s) if stub and one_clock else None
    text = "pages/s of the same client and bodies against a loopback stub / measured pages/s"
    passed = None if ratio is None else ratio >= HEADROOM_MIN
    return ValidityCheck("client_headroom", passed, ratio, HEADROOM_MIN, text, at_least=True)


def _server_as_asked(observation: Observation) -> ValidityCheck:
    differences = observation.facts.server.get("differences") if observation.facts is not None else None
    text = "version and flags read back from the server differ from those asked for in so many points"
    if differences is None:
        return ValidityCheck("server_as_asked", None, None, 0, text)
    shown = "; ".join(map(str, differences)) if differences else 0
    return ValidityCheck("server_as_asked", not differences, shown, 0, text)


def _to_itself(observation: Observation) -> ValidityCheck:
    requests = counter_delta(observation, "request_success")
    text = "requests that the server finished beyond those of this drive"
    sent = sum(output.send_s is not None for output in observation.outputs)
    others = None if requests is None or interrupted(observation) else max(0.0, requests - sent)
    return _limit("server_to_itself", others, 0.0, text)


def _same_alone(observation: Observation) -> ValidityCheck:
    """Batching may change numerics, so that a few other words only advise; another page's answer invalidates."""
    text = (
        "share of some pages whose answer is the same when they are asked again one at a time; "
        f"answers less than {ALONE_SIMILARITY_MIN:g} alike may be those of other pages and make the run invalid"
    )
    alone = _client(observation).get("alone")
    if not alone or not alone["pages"]:
        return ValidityCheck("same_alone", None, None, ALONE_EQUAL_MIN, text, at_least=True)
    share = alone["equal"] / alone["pages"]
    advises = alone["lowest_similarity"] >= ALONE_SIMILARITY_MIN
    passed = share >= ALONE_EQUAL_MIN
    return ValidityCheck("same_alone", passed, share, ALONE_EQUAL_MIN, text, advises=advises, at_least=True)
