"""Names of everything that can be plugged in, and where each is loaded from.

A plugin is a file, one line here, and a test. Outside packages register through the entry-point
groups `evalkit.<kind>` (for example `evalkit.metric`). Targets are loaded on first use, so that the
command line starts fast and evalkit imports none of its sibling packages.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from evalkit.errors import UserError, unknown_name

BUILTIN: dict[str, dict[str, str]] = {
    "metric": {
        "text_edit": "metrics.text_edit:METRIC",
        "formula_edit": "metrics.formula_edit:METRIC",
        "table_edit": "metrics.table_edit:METRIC",
        "read_order_edit": "metrics.read_order:METRIC",
        "table_teds": "metrics.teds:TEDS",
        "table_teds_s": "metrics.teds:TEDS_S",
        "page_iou": "metrics.page_iou:METRIC",
        "formula_cdm": "metrics.cdm.score:FORMULA_CDM",
    },
    "runner": {
        "openai": "runners.openai_client:RUNNER",
        "command": "runners.command:RUNNER",
        "vllm-offline": "runners.offline_vllm:RUNNER",
        "local": "runners.local_parser:RUNNER",
        "hosted_api": "runners.hosted_api:RUNNER",
        "two_stage": "runners.two_stage.runner:RUNNER",
    },
    "launcher": {
        "emulated": "runners.launchers.emulated:LAUNCHER",
        "vllm": "runners.launchers.vllm:LAUNCHER",
        "wheel": "runners.launchers.wheel:LAUNCHER",
        "container": "runners.launchers.container:LAUNCHER",
        "url": "runners.launchers.url:LAUNCHER",
    },
    "converter": {
        "parser_json": "evalkit.converters.parser_json:CONVERTER",
        "grounding": "evalkit.converters.grounding:CONVERTER",
        "dots_json": "evalkit.converters.element_json:DOTS",
        "monkey_json": "evalkit.converters.element_json:MONKEY",
        "youtu_omni_json": "evalkit.converters.element_json:YOUTU_OMNI",
        "element_json": "evalkit.converters.element_json:OMNIDOCBENCH",
        "hpd": "evalkit.converters.hpd:FORK",
        "hpd_plain": "evalkit.converters.hpd:PLAIN",
        "markdown": "evalkit.converters.markdown:CONVERTER",
        "html_page": "evalkit.converters.html_page:CONVERTER",
        "two_stage": "evalkit.converters.two_stage:CONVERTER",
        "wrapped_markdown": "evalkit.converters.wrapped_markdown:CONVERTER",
    },
    "protocol": {
        "omnidocbench-1.6": "evalkit.protocols.omnidocbench_v16.protocol:PROTOCOL",
    },
    "figures": {
        "throughput": "metrics.throughput:figures",
        "latency": "metrics.latency:figures",
        "decoding_steps": "metrics.decoding_steps:figures",
        "energy": "metrics.energy:figures",
        "page_rows": "metrics.page_figures:page_rows",
        "branch_rows": "metrics.page_figures:branch_rows",
        "step_rows": "metrics.step_rows:step_rows",
        "by_length": "metrics.buckets:by_length",
        "by_group": "metrics.buckets:by_group",
        "paired_speedup": "metrics.buckets:paired_speedup",
        "edges": "metrics.buckets:EDGES",
        "fewest_pages": "metrics.quantiles:smallest_count",
        "validity": "metrics.validity:checks",
        "validity_names": "metrics.validity:names",
        "invalidates": "metrics.validity:invalidates",
        "advice": "metrics.validity:advice",
    },
    "report": {
        "site": "evalkit.stages.report:make_report",
        "builder": "reports.site:build_site",
        "server": "reports.serve:serve_site",
        "comparison": "reports.comparison:write_comparison",
    },
    "executor": {"local": "evalkit.executor:LOCAL"},
    "doctor": {
        "python": "evalkit.diagnosis:check_python",
        "libxml2": "metrics.teds.doctor:check_libxml2",
        "tex": "metrics.cdm.doctor:check_tex",
        "parsers": "runners.parsers.doctor:check_parsers",
        "gpu": "runners.system_doctor:check_gpu",
    },
    "cdm_backend": {
        "native": "metrics.cdm.score:NATIVE",
        "official": "metrics.cdm.official:OFFICIAL",
    },
    "normalizer": {
        "text_edit": "evalkit.protocols.omnidocbench_v16.normalize.text:normalize_text",
        "formula_edit": "evalkit.protocols.omnidocbench_v16.normalize.formula:normalize_formula",
        "table_edit": "evalkit.protocols.omnidocbench_v16.normalize.table:normalize_table",
        "table_teds": "evalkit.protocols.omnidocbench_v16.normalize.table:normalize_table",
        "table_teds_s": "evalkit.protocols.omnidocbench_v16.normalize.table:normalize_table",
    },
    "server": {"emulator": "runners.emulator.server:serve_forever"},
    "simulator": {
        "grid": "runners.emulator.grid:run_grid",
        "published": "runners.emulator.published:compare",
        "curves": "runners.emulator.curves:draw_curves",
    },
    "catalog": {
        "systems": "runners.systems:catalog",
        "published": "runners.published.rows:catalog",
        "published_rows": "runners.published.rows:plain_rows",
        "published_layout": "runners.published.rows:layout_rows",
        "install_environment": "runners.environments.install:install",
        "new_system": "runners.system_contract:new_system",
        "system_problems": "runners.system_contract:problems_of",
        "system_doctor": "runners.system_doctor:check_system",
        "system": "runners.systems:load_system",
    },
}


@cache
def targets(kind: str) -> dict[str, str]:
    """All registered names of a kind with their `module:attribute`, built-in ones winning."""
    from importlib.metadata import entry_points  # of which a process that uses built-in plugins only needs nothing

    if kind not in BUILTIN:
        raise unknown_name("kind of plugin", kind, BUILTIN)
    found = {entry.name: entry.value for entry in entry_points(group=f"evalkit.{kind}")}
    return found | BUILTIN[kind]


def names(kind: str) -> list[str]:
    """Registered names of a kind, sorted."""
    return sorted(targets(kind))


def is_builtin(kind: str, name: str) -> bool:
    """Whether a name is registered here, not by an outside package."""
    return name in BUILTIN.get(kind, {})


def load(kind: str, name: str) -> Any:
    """The object registered under a name. Raises UserError for an unknown or unloadable name."""
    known = BUILTIN[kind] if is_builtin(kind, name) else targets(kind)
    if name not in known:
        raise unknown_name(kind, name, known)
    module_name, _, attribute = known[name].partition(":")
    try:
        return getattr(import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        raise UserError(
            f"{kind} {name!r} needs the Python package {missing!r}, which is not installed.\n"
            f"Install it with the matching extra: pip install 'evalkit[all]'"
        ) from error
