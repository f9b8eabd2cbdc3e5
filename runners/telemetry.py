"""GPU and host readings beside a drive: NVML where it is present, and the machine's load."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from evalkit.types import Sample

EVERY_S = 0.5


class GpuReader:
    """Reads all GPUs through NVML; empty where NVML, a driver or a GPU is missing."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        try:
            import pynvml
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except pynvml.NVMLError:
            return
        self._nvml = pynvml

    def names(self) -> list[str]:
        """The GPUs by name."""
        return [_text(self._nvml.nvmlDeviceGetName(handle)) for handle in self._handles]

    def driver(self) -> str | None:
        """Version of the driver."""
        return _text(self._nvml.nvmlSystemGetDriverVersion()) if self._nvml else None

    def read(self) -> list[dict[str, float]]:
        """For each GPU what it tells of energy_j (a counter), power_w, utilisation, memory_mb and clock_mhz."""
        return [self._read_one(handle) for handle in self._handles]

    def _read_one(self, handle: Any) -> dict[str, float]:
        nvml = self._nvml
        questions: dict[str, Callable[[], Any]] = {
            "energy_j": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "utilisation": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
            "memory_mb": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used / 2**20,
            "clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        }
        values: dict[str, float] = {}
        for name, question in questions.items():
            try:
                values[name] = float(question())
            except nvml.NVMLError:
                continue
        return values

    def close(self) -> None:
        """Leave NVML."""
        if self._nvml:
            self._nvml.nvmlShutdown()


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class TelemetrySampler:
    """Samples GPUs and host load in a thread of its own from `start` to `stop`."""

    def __init__(self, every_s: float = EVERY_S) -> None:
        self._gpus = GpuReader()
        self._every_s = every_s
        self._samples: list[Sample] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="telemetry-sampler", daemon=True)
        self._start_s = 0.0

    def describe(self) -> dict[str, Any]:
        """GPU names and driver, for the run's record."""
        return {"gpus": self._gpus.names(), "driver": self._gpus.driver()}

    def start(self, start_s: float) -> None:
        """Begin sampling; `start_s` is the run's time 0."""
        self._start_s = start_s
        self._thread.start()

    def _sample(self) -> None:
        self._read()
        while not self._stopped.wait(self._every_s):
            self._read()

    def _read(self) -> None:
        time_s = round(time.monotonic() - self._start_s, 4)
        for index, values in enumerate(self._gpus.read()):
            self._samples.append(Sample(time_s, f"gpu{index}", values))
        self._samples.append(Sample(time_s, "host", {"load_1min": os.getloadavg()[0]}))

    def stop(self) -> tuple[Sample, ...]:
        """End with one last reading; all samples."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
            self._read()
        self._gpus.close()
        return tuple(self._samples)
