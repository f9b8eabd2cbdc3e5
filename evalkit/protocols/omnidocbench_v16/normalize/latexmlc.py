"""LaTeX tables converted by the external program latexmlc, as the official scorer does where it is installed."""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from evalkit.protocols.omnidocbench_v16.policy import POLICY
from evalkit.protocols.omnidocbench_v16.work_limits import LATEXMLC, limit_met

_PACKAGES = (
    "subcaption", "url", "graphicx", "caption", "multirow", "booktabs", "color", "colortbl",
    "xcolor,soul,framed", "fontspec", "amsmath,amssymb,mathtools,bm,mathrsfs,textcomp",
)  # fmt: skip
_OPENING = re.compile(r"<table\b", re.IGNORECASE)


def table_by_latexmlc(latex: str) -> str:
    """The HTML tables of a LaTeX fragment, from the first opening tag to the last closing one; "" on failure.

    Source: data_preprocess.py, convert_latex_to_html.
    """
    html = run_latexmlc(latex)
    if html is None:
        limit_met(LATEXMLC)
    return html or ""


@lru_cache(maxsize=1024)
def run_latexmlc(latex: str) -> str | None:
    """The HTML tables, "" on failure, None when latexmlc took too long."""
    with tempfile.TemporaryDirectory(prefix="latexmlc-") as folder:
        source, target = Path(folder, "table.tex"), Path(folder, "table.html")
        source.write_text(_document(latex), encoding="utf-8", errors="replace")
        command = ["latexmlc", "--quiet", "--nocomments", f"--log={folder}/table.log", str(source), f"--dest={target}"]
        try:
            subprocess.run(
                command,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=POLICY.normalize.latexmlc_timeout_s,
            )
            page = target.read_text(encoding="utf-8")
        except subprocess.TimeoutExpired:
            return None
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
            return ""
    return _tables_of(page)


def _document(latex: str) -> str:
    packages = "\n".join(f"\\usepackage{{{name}}}" for name in _PACKAGES)
    head = f"\\documentclass[border=20pt]{{article}}\n{packages}\n\\setlength{{\\parindent}}{{0pt}}"
    return f"{head}\n\\begin{{document}}\n{latex}\n\\end{{document}}\n"


def _tables_of(page: str) -> str:
    opening = _OPENING.search(page)
    end = page.lower().rfind("</table>")
    if opening is None or end < 0:
        return ""
    start = page.find(">", opening.end()) + 1
    return f"<table>{page[start:end]}</table>" if 0 < start <= end else ""
