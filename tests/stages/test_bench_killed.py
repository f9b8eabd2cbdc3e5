"""kill -9 of the whole job: nothing of it stays behind, and the resumed run scores as an undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.bench_summary import read_bench_summary
from evalkit.store import read_json
from runners.launchers.leftovers import start_time
from tests.runners.launchers.test_launchers import wait_until

PAGES = 6
COMMAND = (
    *(sys.executable, "-m", "evalkit.cli.main", "bench", "--systems", "hpd-parsing", "--emulate", "always"),
    *("--limit", str(PAGES), "--bs", "2", "--no-cdm", "--workers", "1", "--allow", "client_lag", "--out"),
)


def rows(run: Path) -> list[bytes]:
    log = run / "hpd-parsing/infer/requests.jsonl"
    return log.read_bytes().splitlines()[1:] if log.exists() else []


def started_by(group: int) -> set[int]:
    """Processes below one, by parent."""
    below, found = {group}, {group}
    while below:
        below = {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if parent(pid) in below} - found
        found |= below
    return found


def parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("answered", [3])
def test_a_killed_benchmark_is_gone_and_its_resumed_run_scores_the_same(tmp_path: Path, answered: int) -> None:
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    subprocess.run([*COMMAND, str(whole)], env=env, check=True, capture_output=True, timeout=120)
    with subprocess.Popen([*COMMAND, str(cut)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        assert wait_until(lambda: len(rows(cut)) >= answered, within_s=60)
        family = started_by(job.pid)
        job.send_signal(signal.SIGKILL)
    assert len(family) >= 3  # the job, a supervisor and the server
    assert wait_until(lambda: all(start_time(pid) is None for pid in family))
    subprocess.run([*COMMAND, str(cut)], env=env, check=True, capture_output=True, timeout=120)
    assert len(rows(cut)) == PAGES
    first, second = (read_json(out / "hpd-parsing/evaluate/summary.json") for out in (whole, cut))
    assert first["metrics"] == second["metrics"]
    summary = read_bench_summary(cut / "hpd-parsing")
    assert summary is not None
    if summary["sessions"] > 1:
        assert summary["figures"]["pps"]["value"] is None
        assert "uninterrupted" in summary["broken_rules"]
