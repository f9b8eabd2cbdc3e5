"""What one page asks of an engine: token counts by block, and from them the streams that decode it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Steps = npt.NDArray[np.int64]


class Content(StrEnum):
    """Kinds of token that differ in how well a drafter predicts them."""

    LAYOUT = "layout"
    TEXT = "text"
    FORMULA = "formula"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class BlockTokens:
    """Tokens of one block: its layout part in the main stream, and its content (None: it has none)."""

    layout: int
    content: int | None
    kind: Content = Content.TEXT


@dataclass(frozen=True, slots=True)
class PageTokens:
    """Token counts of one page. `closing` counts what follows the last block; `crop_tokens` a region crop's prompt."""

    page_id: str
    input_tokens: int
    image_patches: int
    blocks: tuple[BlockTokens, ...]
    closing: int = 1
    prefix_key: str | None = None

    @property
    def sequential_tokens(self) -> int:
        """Length of the page as one trajectory, without fork markers."""
        return self.closing + sum(block.layout + (block.content or 0) for block in self.blocks)

    @property
    def main_content(self) -> Content:
        """The kind that holds most content tokens; text for an empty page."""
        totals = dict.fromkeys((Content.TEXT, Content.FORMULA, Content.TABLE), 0)
        for block in self.blocks:
            totals[Content.TEXT if block.kind is Content.LAYOUT else block.kind] += block.content or 0
        return max(totals, key=lambda kind: totals[kind])


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """One decoding stream. `steps` is the number of tokens each decoding step advances it by.

    `fork_after` is how many main-stream tokens must exist before this stream starts, and all that it
    may see of the page's output; None for the main stream. `own_prompt` is the prompt of a stream that does
    not share the page's (a region crop), with its own `patches` to encode.
    """

    index: int
    steps: Steps
    fork_after: int | None = None
    own_prompt: int | None = None
    patches: int = 0
    truncated: bool = False

    @property
    def tokens(self) -> int:
        """Tokens the stream emits."""
        return int(self.steps.sum())


@dataclass(frozen=True, slots=True)
class PagePlan:
    """One page as the engine runs it: the main stream first, then its branches in reading order."""

    page_id: str
    prefix_key: str
    prompt_tokens: int
    patches: int
    streams: tuple[StreamPlan, ...]

    @property
    def tokens(self) -> int:
        """Output tokens over all streams."""
        return sum(stream.tokens for stream in self.streams)

    @property
    def decoding_steps(self) -> int:
        """Decoding steps over all streams."""
        return sum(len(stream.steps) for stream in self.streams)

    @property
    def truncated(self) -> bool:
        """Whether any stream meets its token limit."""
        return any(stream.truncated for stream in self.streams)

    def critical_path_steps(self) -> int:
        """Steps of the longest root-to-leaf path: main stream up to the fork, then the branch."""
        main = self.streams[0]
        reached = np.cumsum(main.steps)
        longest = len(main.steps)
        for stream in self.streams[1:]:
            before = int(np.searchsorted(reached, stream.fork_after or 0)) + 1 if stream.fork_after else 0
            longest = max(longest, before + len(stream.steps))
        return longest

    def critical_path_tokens(self) -> int:
        """Tokens of the longest root-to-leaf path."""
        forks = [(stream.fork_after or 0) + stream.tokens for stream in self.streams[1:]]
        return max([self.streams[0].tokens, *forks])
