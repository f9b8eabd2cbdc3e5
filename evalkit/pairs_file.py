"""Files of pairs for `evalkit score`: a JSON object a line, all mistakes reported at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidFileError, UserError

# Names under which golden files keep the two sides; the first found is taken.
SIDES = (("gt", "pred"), ("gt_html", "pred_html"))
RAW_SIDES = (("gt", "pred"), ("raw_gt", "raw_pred"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a non-empty line. `-` reads standard input."""
    rows, problems = [], []
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"line {number}: not valid JSON ({error})")
            continue
        if isinstance(row, dict):
            rows.append(row)
        else:
            problems.append(f"line {number}: expected an object, found {type(row).__name__}")
    if problems:
        raise InvalidFileError(str(path), problems)
    return rows


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    source = Path("/dev/stdin") if str(path) == "-" else path
    try:
        # split at \n only: other line separators may stand inside JSON strings
        text = source.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UserError(f'{path}: no such file; expected lines of {{"gt": …, "pred": …}}') from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: is a folder, expected a file of JSON lines") from error
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(path), [f"not UTF-8 text (byte {error.start})"]) from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def pairs_of(path: Path, rows: list[dict[str, Any]], *, raw: bool = False) -> list[tuple[str, str]]:
    """(gt, pred) of each row; null stands for an empty string."""
    pairs, problems = [], []
    for number, row in enumerate(rows, start=1):
        keys = next((keys for keys in (RAW_SIDES if raw else SIDES) if set(keys) <= row.keys()), None)
        if keys is None:
            problems.append(f"object {number}: needs the keys gt and pred, has {', '.join(sorted(row)) or 'none'}")
            continue
        sides = [row[key] for key in keys]
        wrong = [key for key, side in zip(keys, sides, strict=True) if not isinstance(side, str | None)]
        if wrong:
            problems.append(f"object {number}: {' and '.join(wrong)} must be text or null")
            continue
        pairs.append((sides[0] or "", sides[1] or ""))
    if problems:
        raise InvalidFileError(str(path), problems)
    return pairs
