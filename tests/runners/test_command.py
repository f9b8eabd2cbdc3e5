"""The command runner's placeholders: where a program finds its image, writes its answer, and reaches its server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalkit.errors import UserError
from evalkit.types import FinishState, InferSettings, Page, PageJob, RawOutput, System
from runners.command import RUNNER

WRITES_FOLDER = (
    "import sys, pathlib; f = pathlib.Path(sys.argv[2]) / 'deep'; f.mkdir();"
    "(f / 'small.md').write_text('x'); (f / 'page.md').write_text('# from the folder');"
    "(f / 'a.json').write_text('y' * 99)"
)


def run(command: tuple[str, ...], tmp_path: Path, endpoints: tuple[str, ...] = ()) -> RawOutput:
    image = tmp_path / "page.png"
    image.write_bytes(b"image")
    outputs: list[RawOutput] = []
    settings = InferSettings(System("mine", "Mine", "command", command=command), endpoints=endpoints, timeout_s=20)
    RUNNER.run([PageJob(Page("page.png", "page"), str(image))], settings, outputs.append)
    return outputs[0]


@pytest.mark.parametrize(
    ("code", "words", "text"),
    [
        ("import sys; print(open(sys.argv[1]).read())", ("{image}",), "image\n"),
        ("import sys; open(sys.argv[2], 'w').write('# out')", ("{image}", "{output}"), "# out"),
        (WRITES_FOLDER, ("{image}", "{folder}"), "# from the folder"),
        ("import sys; print(sys.argv[2])", ("{image}", "--url={url}"), "--url=http://127.0.0.1:9/v1\n"),
    ],
)
def test_placeholders(code: str, words: tuple[str, ...], text: str, tmp_path: Path) -> None:
    output = run((sys.executable, "-c", code, *words), tmp_path, ("http://127.0.0.1:9/v1",))
    assert (output.state, output.text) == (FinishState.OK, text)


def test_a_folder_without_markdown_costs_the_page(tmp_path: Path) -> None:
    output = run((sys.executable, "-c", "pass", "{image}", "{folder}"), tmp_path)
    assert output.state is FinishState.ERROR
    assert "no output file" in (output.reason or "")


def test_a_program_that_needs_a_server_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="give --endpoint"):
        run((sys.executable, "{image}", "{url}"), tmp_path)
