"""What the client could do by itself: the same bodies and load against a stub that answers at once."""

from __future__ import annotations

from dataclasses import replace

from evalkit.types import Load, RawOutput
from runners.chat_body import BodyStore
from runners.client_pool import ClientPool
from runners.client_process import ClientTask
from runners.loopback_stub import stub_server

HEADROOM_PAGES = 64
"""Bodies that are sent at least; twice the requests in flight where that is more."""


def headroom_pps(task: ClientTask, load: Load, processes: int, bodies: BodyStore) -> float | None:
    """Pages/s of the same client, load and bodies against a stub that answers at once; None without a body."""
    usable = [slot for slot in task.slots if slot.problem is None][: max(HEADROOM_PAGES, 2 * load.in_flight)]
    if not usable:
        return None
    outputs: list[RawOutput] = []
    with stub_server() as url:
        stub_task = replace(
            task, endpoints=(url,), slots=usable, arrivals_s=None, concurrency=load.in_flight, marker=None, headers={}
        )
        pool = ClientPool(stub_task, replace(load, shape="closed"), processes, bodies)
        try:
            pool.run(outputs.append, lambda start_s: None)
        finally:
            pool.close()
    times = [(output.send_s, output.last_s) for output in outputs if output.send_s is not None]
    if not times:
        return None
    length_s = max(last_s or 0.0 for _, last_s in times) - min(send_s or 0.0 for send_s, _ in times)
    return len(times) / length_s if length_s > 0 else None
