"""The report of 20 systems on 1,651 pages: time, memory, and the size of its first page.

    python -m perf report

Claims: at most 60 s of one core's time and 1 GB; a first page of at most 3 MB. The runs are made of random numbers.
The report is one process, so on a machine that has nothing else to do its wall time is about its processor time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

from evalkit.stages.report import make_report
from tests.fakes.made_runs import MadeRun, made_dataset, make_run

SYSTEMS, PAGES, PAIRS = 20, 1651, 16
LIMIT_S, LIMIT_GB, LIMIT_INDEX_MB = 60.0, 1.0, 3.0


def main() -> int:
    """Print the three figures; 1 when a claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep runs and report here")
    args, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        runs = make_runs(folder)
        # a process of its own, so that its peak of memory is that of the report alone
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            cpu_s, wall_s, gigabytes, index = pool.apply(measure, (runs, folder / "report"))
    megabytes = index / 1e6
    print(f"{SYSTEMS} systems x {PAGES} pages, {PAIRS} pairs a page")
    print(f"cpu     {cpu_s:6.1f} s   (at most {LIMIT_S:.0f})")
    print(f"wall    {wall_s:6.1f} s")
    print(f"memory  {gigabytes:6.2f} GB  (at most {LIMIT_GB:.0f})")
    print(f"index   {megabytes:6.2f} MB  (at most {LIMIT_INDEX_MB:.0f})")
    return int(cpu_s > LIMIT_S or gigabytes > LIMIT_GB or megabytes > LIMIT_INDEX_MB)


def make_runs(folder: Path) -> list[Path]:
    """The run folders, made where they are not there yet."""
    dataset = folder / "made.json"
    if not dataset.exists():
        made_dataset(folder, PAGES)
    runs = []
    for number in range(SYSTEMS):
        run = folder / f"system-{number:02d}"
        made = MadeRun(run.name, PAGES, number, 0.6 + 0.018 * number, number % 5 == 4, pairs_per_page=PAIRS)
        runs.append(run if (run / "bench" / "summary.json").exists() else make_run(run, dataset, made))
    return runs


def measure(runs: list[Path], out: Path) -> tuple[float, float, float, int]:
    """Processor and wall seconds, peak memory in GB and bytes of the first page of one report."""
    start = time.perf_counter()
    index = make_report(runs, out)
    wall_s = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss / 1e6, index.stat().st_size


if __name__ == "__main__":
    raise SystemExit(main())
