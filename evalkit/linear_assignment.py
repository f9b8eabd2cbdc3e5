"""scipy's solver of the linear assignment problem, without the rest of `scipy.optimize`.

Importing `scipy.optimize` takes 0.2 s, half of the start-up of a worker; the solver is one small extension module in
its folder. Where it cannot be loaded alone, the package is imported as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

EXTENSION = "_lsap"

Solver = Callable[[Any], tuple[Any, Any]]


def solver_alone() -> Solver | None:
    """The solver from its own file; None where this scipy keeps it elsewhere or it does not load."""
    package = find_spec("scipy")
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(package.submodule_search_locations[0]) / "optimize"
    for suffix in EXTENSION_SUFFIXES:
        spec = spec_from_file_location(EXTENSION, folder / f"{EXTENSION}{suffix}")
        if spec is None or spec.loader is None or not (folder / f"{EXTENSION}{suffix}").is_file():
            continue
        try:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            solver: Solver = module.linear_sum_assignment
        except (ImportError, AttributeError, OSError):
            return None
        return solver
    return None


def solver_of_package() -> Solver:
    """The solver as `scipy.optimize` exports it."""
    from scipy.optimize import linear_sum_assignment

    solver: Solver = linear_sum_assignment
    return solver


linear_sum_assignment: Solver = solver_alone() or solver_of_package()
