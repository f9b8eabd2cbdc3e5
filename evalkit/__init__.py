"""evalkit measures document parsers on OmniDocBench: how right their markdown is and how fast they produce it.

Everything that the command line does is a call here, loaded on first use: `evalkit.evaluate(…)`, `evalkit.bench(…)`,
`evalkit.gate(…)` and so on; see `evalkit.api`.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


CALLS = frozenset(
    {
        *("bench", "compare", "convert", "doctor", "evaluate", "gate", "infer"),
        *("load_dataset", "names", "report", "rows", "score", "simulate", "speed", "sweep"),
    }
)


def __getattr__(name: str) -> Any:
    """The calls of `evalkit.api`, so that `import evalkit` loads nothing heavy. No submodule has the name of a call."""
    if name not in CALLS and name != "api":  # a submodule: the import system finds it by itself
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}")
    from importlib import import_module

    calls = import_module("evalkit.api")
    return calls if name == "api" else getattr(calls, name)


def __dir__() -> list[str]:
    from evalkit import api

    return sorted([*globals(), *api.__all__])
