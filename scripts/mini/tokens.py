"""Token counts by plain rules: an approximation of the tokenizer, and the tile rule for the image."""

from __future__ import annotations

import re

TILE_PX, TOKENS_A_TILE, MOST_TILES = 448, 256, 24
PROMPT_TOKENS = {"fork": 52, "plain": 50}
_PIECE = re.compile(r"<BLOCK>|<CHILD>|<FORK>|[A-Za-z]+|\d|\s+|[一-鿿]+|.", re.DOTALL)


def text_tokens(text: str) -> int:
    """Tokens of a text: 1 for a marker, digit, sign or line end, 1 for five letters, 2 for three Chinese characters."""
    total = 0
    for piece in _PIECE.findall(text):
        if piece.isspace():
            total += piece.count("\n")
        elif piece.isascii() and piece.isalpha():
            total += -(-len(piece) // 5)
        elif "一" <= piece[0] <= "鿿":
            total += -(-len(piece) * 2 // 3)
        else:
            total += 1
    return total


def tile_grid(width: int, height: int) -> tuple[int, int]:
    """Columns and rows of tiles for an image: of the three grids nearest in area, the one nearest in shape."""
    shape = width / height
    grids = [
        (columns, rows)
        for columns in range(1, MOST_TILES + 1)
        for rows in range(1, MOST_TILES + 1)
        if columns * rows <= MOST_TILES
    ]
    close = [grid for grid in grids if abs(grid[0] / grid[1] - shape) <= 0.2] or grids
    close.sort(key=lambda grid: (abs(width * height - grid[0] * grid[1] * TILE_PX**2), grid))
    return min(close[:3], key=lambda grid: abs(grid[0] / grid[1] - shape))


def input_tokens(width: int, height: int, mode: str) -> int:
    """Tokens of a request: the tiles, a thumbnail where there is more than one, and the prompt."""
    columns, rows = tile_grid(width, height)
    tiles = columns * rows
    return (tiles + (1 if tiles > 1 else 0)) * TOKENS_A_TILE + PROMPT_TOKENS[mode]
