"""Token counts by plain rules, where no tokenizer is at hand: an approximation, and the tile rule for images.

Source of the tile rule: preprocessing of HPD-Parsing (InternVL 3.5): 448 px tiles of 256 tokens, 1 to 24, a thumbnail.
"""

from __future__ import annotations

import re

TILE_PX, TOKENS_A_TILE, MOST_TILES = 448, 256, 24
LETTERS_A_TOKEN = 5
PROMPT_TOKENS = {"fork": 52, "plain": 50}
"""Tokens of HPD-Parsing's two prompts with its system text, by the same rule."""

PIECE = re.compile(r"<BLOCK>|<CHILD>|<FORK>|[A-Za-z]+|\d|\s+|[一-鿿]+|.", re.DOTALL)
GRIDS = [(columns, rows) for columns in range(1, 25) for rows in range(1, 25) if columns * rows <= MOST_TILES]


def text_tokens(text: str) -> int:
    """Tokens of a text: 1 for a marker, digit, sign or line end, 1 for five letters, 2 for three Chinese characters."""
    total = 0
    for piece in PIECE.findall(text):
        if piece.isspace():
            total += piece.count("\n")
        elif piece.isascii() and piece.isalpha():
            total += -(-len(piece) // LETTERS_A_TOKEN)
        elif "一" <= piece[0] <= "鿿":
            total += -(-len(piece) * 2 // 3)
        else:
            total += 1
    return total


def tile_grid(width_px: int, height_px: int) -> tuple[int, int]:
    """Columns and rows of tiles for an image: of the three grids nearest in area, the one nearest in shape."""
    shape = width_px / height_px
    close = [grid for grid in GRIDS if abs(grid[0] / grid[1] - shape) <= 0.2] or GRIDS
    nearest = sorted(close, key=lambda grid: (abs(width_px * height_px - grid[0] * grid[1] * TILE_PX**2), grid))
    return min(nearest[:3], key=lambda grid: abs(grid[0] / grid[1] - shape))


def request_tokens(width_px: int, height_px: int, mode: str) -> int:
    """Input tokens of a request to HPD-Parsing: the image and the prompt of a mode (fork or plain)."""
    return image_tokens(width_px, height_px) + PROMPT_TOKENS[mode]


def image_tokens(width_px: int, height_px: int) -> int:
    """Tokens of an image: its tiles, and a thumbnail where there is more than one."""
    columns, rows = tile_grid(width_px, height_px)
    tiles = columns * rows
    return (tiles + (tiles > 1)) * TOKENS_A_TILE
