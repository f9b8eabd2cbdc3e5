"""A drive against an emulated server, whose clock may run faster than the wall's, in the emulated clock's seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evalkit.errors import UserError
from evalkit.types import Observation, RawOutput, Sample


def in_emulated_time(observation: Observation) -> Observation:
    """An emulated server's wall clock may run fast; its figures are those of the emulated clock."""
    facts = observation.facts
    speeds = {row.get("speed", 1.0) for row in facts.server.get("facts", ())} if facts is not None else set()
    if facts is None or not facts.emulated or speeds <= {1.0}:
        return observation
    if len(speeds) > 1:
        raise UserError(f"the emulated servers ran at different speeds ({speeds}); their times cannot be joined")
    speed = speeds.pop()
    client = {
        **facts.client,
        **{
            name: value * speed for name, value in facts.client.items() if name.startswith("lag_") and value is not None
        },
    }
    if client.get("stub_pps"):
        client["stub_pps"] = client["stub_pps"] / speed
    samples = tuple(Sample(sample.time_s * speed, sample.source, _scaled(sample, speed)) for sample in facts.samples)
    return replace(
        observation,
        outputs=tuple(_stretched(output, speed) for output in observation.outputs),
        facts=replace(facts, client=client, samples=samples),
    )


def _scaled(sample: Sample, speed: float) -> Mapping[str, float]:
    return {name: value * speed if "_seconds_" in name else value for name, value in sample.values.items()} | {
        name: value for name, value in sample.values.items() if name.endswith("_count")
    }


def _stretched(output: RawOutput, speed: float) -> RawOutput:
    def stretch(time_s: float | None) -> float | None:
        return None if time_s is None else time_s * speed

    extra = dict(output.extra)
    if "chunk_times_s" in extra:
        extra["chunk_times_s"] = [time_s * speed for time_s in extra["chunk_times_s"]]
    return replace(
        output,
        arrival_s=stretch(output.arrival_s),
        send_s=stretch(output.send_s),
        first_s=stretch(output.first_s),
        last_s=stretch(output.last_s),
        extra=extra,
    )
