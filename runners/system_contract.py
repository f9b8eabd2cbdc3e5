"""The contract of a system's row: what is wrong with it, in plain words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from evalkit.errors import InvalidFileError, UserError
from evalkit.types import System
from runners.environments.install import FOLDER as ENVIRONMENTS
from runners.published.rows import published_rows
from runners.systems import FOLDER, load_system, system_names
from runners.two_stage.layouts import LAYOUTS

LAYOUT_CLASSES = ("text", "table", "formula", "image", "other", "none")  # other: full page only; none: not counted
PARADIGMS = ("autoregressive", "hierarchical", "two-stage", "pipeline", "general")
TEMPLATE = "systems_template.toml"
TEMPLATE_WEIGHTS, TEMPLATE_MODEL = "owner/model", "model-name-on-the-server"
VALID_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def new_system(name: str, folder: Path) -> Path:
    """Write a template to `folder`/NAME.toml. Raises UserError when there is one, or the name is none or taken."""
    if not VALID_NAME.fullmatch(name):
        raise UserError(f"{name!r} cannot name a system: expected letters, digits, '.', '_' and '-', as in my-parser")
    if (FOLDER / f"{name}.toml").exists():
        raise UserError(f"{name} is a built-in system, and a row of yours would hide it; choose another name")
    path = folder / f"{name}.toml"
    if path.exists():
        raise UserError(f"{path} exists already; edit it, or choose another name")
    text = (files("runners") / TEMPLATE).read_text(encoding="utf-8").replace("NAME", name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot write ({error.strerror})") from error
    return path


def problems_of(name: str, known: Mapping[str, Collection[str]], variants: Mapping[str, Collection[str]]) -> list[str]:
    """Everything wrong with a system's row; [] when it is sound.

    `known` holds the registered runners, launchers and converters; `variants` those of each converter.
    """
    try:
        system = load_system(name)
    except InvalidFileError as error:
        return list(error.problems)
    found = (_unfilled(system), _names(system, known, variants), _runner_problems(system), _layout_problems(system))
    return [problem for problems in found for problem in problems]


def _unfilled(system: System) -> Iterator[str]:
    """What stands there as the template has it."""
    for key, value, template in (
        ("identity.weights", system.identity.get("weights"), TEMPLATE_WEIGHTS),
        ("serve.model", system.serve.model, TEMPLATE_MODEL),
    ):
        if value == template:
            yield f"{key} is still {value!r}, as in the template"


def _names(
    system: System, known: Mapping[str, Collection[str]], variants: Mapping[str, Collection[str]]
) -> Iterator[str]:
    converter = system.output.converter
    if system.runner not in known["runner"]:
        yield f"runner {system.runner!r} is not known: {', '.join(sorted(known['runner']))}"
    if converter not in known["converter"]:
        yield f"output.converter {converter!r} is not known: {', '.join(sorted(known['converter']))}"
    elif system.output.variant not in variants[converter]:
        yield f"output.variant {system.output.variant!r} is none of {', '.join(variants[converter])}"
    if system.serve.launcher not in {"url", *known["launcher"]}:
        yield f"serve.launcher {system.serve.launcher!r} is not known: url, {', '.join(sorted(known['launcher']))}"
    if system.paradigm not in PARADIGMS:
        yield f"paradigm {system.paradigm!r} is none of {', '.join(PARADIGMS)}"
    if system.baseline is not None and system.baseline not in system_names():
        yield f"baseline {system.baseline!r} is no system"
    stated = {row.system for row in published_rows()}
    yield from (f"published {item!r} is in no published table" for item in system.published if item not in stated)


def _runner_problems(system: System) -> Iterator[str]:
    if system.runner in {"openai", "two_stage", "hosted_api"} and not system.serve.model:
        yield "serve.model is missing: the model's name on the server"
    if system.runner in {"openai", "hosted_api"} and not system.request.prompt and system.serve.launcher != "url":
        yield "request.prompt is missing"
    if system.runner == "two_stage":
        if system.serve.details.get("layout") not in LAYOUTS:
            yield f"serve.layout must be one of {', '.join(LAYOUTS)}"
        if "text" not in system.request.region_prompts:
            yield "request.region_prompts needs at least a prompt for text"
    if system.runner == "hosted_api":
        if system.request.api_key_env is None:
            yield "request.api_key_env is missing: the environment variable that holds the key"
        if not str(system.serve.details.get("base_url", "")).startswith("https://"):
            yield "serve.base_url must be an https address"
    if system.runner == "command" and not any("{image}" in word for word in system.command):
        yield 'command needs the word {image}, such as ["my-ocr", "{image}", "{output}"]'
    if system.environment is not None and not (ENVIRONMENTS / f"{system.environment}.txt").is_file():
        yield f"environment {system.environment!r} has no lock file"
    if system.runner == "local" and not system.command:
        yield 'command must name a parser of this machine, such as ["tesseract"]'


def _layout_problems(system: System) -> Iterator[str]:
    for label, target in system.layout.items():
        if target not in LAYOUT_CLASSES:
            yield f"layout.{label} is {target!r}, none of {', '.join(LAYOUT_CLASSES)}"
