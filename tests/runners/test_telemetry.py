"""GPU readings through NVML, here a module that passes for it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from runners.telemetry import GpuReader, TelemetrySampler


class NVMLError(Exception):
    pass


def nvml(**changes: Any) -> Any:
    def unsupported(*_: object) -> int:
        raise NVMLError("not supported")

    functions: dict[str, Any] = {
        "NVMLError": NVMLError,
        "NVML_CLOCK_SM": 1,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: f"gpu{index}",
        "nvmlDeviceGetName": lambda handle: b"A800",
        "nvmlSystemGetDriverVersion": lambda: "570.86",
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: 5_000_000,
        "nvmlDeviceGetPowerUsage": lambda handle: 300_000,
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=97),
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(used=70 * 2**30),
        "nvmlDeviceGetClockInfo": unsupported,
    }
    return SimpleNamespace(**(functions | changes))


def test_each_gpu_is_read_for_what_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    reader = GpuReader()
    expected = {"energy_j": 5000.0, "power_w": 300.0, "utilisation": 0.97, "memory_mb": 71680.0}
    assert reader.read() == [expected, expected]
    assert (reader.names(), reader.driver()) == (["A800", "A800"], "570.86")


@pytest.mark.parametrize("module", [None, nvml(nvmlInit=lambda: (_ for _ in ()).throw(NVMLError("no driver")))])
def test_without_nvml_or_a_driver_there_is_nothing_to_read(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", module)
    reader = GpuReader()
    assert (reader.read(), reader.names(), reader.driver()) == ([], [], None)
    reader.close()


def test_the_sampler_reads_gpus_and_host_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    sampler = TelemetrySampler(every_s=60.0)
    assert sampler.describe() == {"gpus": ["A800", "A800"], "driver": "570.86"}
    sampler.start(0.0)
    samples = sampler.stop()
    assert [sample.source for sample in samples[-3:]] == ["gpu0", "gpu1", "host"]
    assert sum(sample.source == "gpu0" for sample in samples) == 2
