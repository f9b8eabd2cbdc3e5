"""One side of a pair, drawn: its visible tokens with their boxes, or the state that says why there are none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from metrics.cdm.braces import UnreadableError
from metrics.cdm.draw import Drawing, draw_alone, draw_together, must_be_alone
from metrics.cdm.formula import Kind, Prepared, prepare
from metrics.cdm.match import DrawnToken, Side
from metrics.cdm.typeset import TexState, Typesetter


class SideState(StrEnum):
    """How drawing one side ended. A broken toolchain is no state: it stops the run."""

    OK = "ok"
    EMPTY = "empty"  # typeset, but no token can be seen
    UNPARSABLE = "unparsable"  # no LaTeX could be made of it
    TEX_ERROR = "tex_error"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Rendering:
    """What drawing a formula gave. `side` is there exactly when the state is OK."""

    state: SideState
    side: Side | None = None
    note: str | None = None

    def to_json(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        body: dict[str, Any] = {"state": str(self.state), "note": self.note}
        if self.side is not None:
            body["size"] = [self.side.width_px, self.side.height_px]
            body["tokens"] = [[drawn.token, *drawn.box] for drawn in self.side.tokens]
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Rendering:
        """The inverse of `to_json`."""
        side = None
        if "tokens" in body:
            tokens = tuple(DrawnToken(token, (x1, y1, x2, y2)) for token, x1, y1, x2, y2 in body["tokens"])
            side = Side(tokens, *body["size"])
        return cls(SideState(body["state"]), side, body["note"])


def render(typesetter: Typesetter, formulas: Sequence[str]) -> list[Rendering]:
    """Draw formulas, as many as possible in shared TeX runs. A formula's result does not depend on the others."""
    renderings: dict[int, Rendering] = {}
    shared: defaultdict[tuple[Kind, bool], list[tuple[int, Prepared]]] = defaultdict(list)
    for index, formula in enumerate(formulas):
        prepared = _prepared(formula)
        if isinstance(prepared, Rendering):
            renderings[index] = prepared
        elif must_be_alone(prepared):
            renderings[index] = _rendering(prepared, draw_alone(typesetter, prepared))
        else:
            shared[prepared.kind, prepared.parsed].append((index, prepared))  # malformed ones keep to themselves
    for members in shared.values():
        drawings = draw_together(typesetter, [prepared for _, prepared in members])
        for (index, prepared), drawing in zip(members, drawings, strict=True):
            renderings[index] = _rendering(prepared, drawing)
    return [renderings[index] for index in range(len(formulas))]


def _prepared(formula: str) -> Prepared | Rendering:
    try:
        return prepare(formula)
    except UnreadableError as error:
        return Rendering(SideState.UNPARSABLE, note=str(error))
    except Exception as error:  # one pair in a metric: a bug in reading one formula costs that side alone
        return Rendering(SideState.UNPARSABLE, note=f"unexpected {type(error).__name__}: {error}")


def _rendering(prepared: Prepared, drawing: Drawing) -> Rendering:
    if drawing.picture is None:
        state = SideState.TIMEOUT if drawing.state is TexState.TIMEOUT else SideState.TEX_ERROR
        return Rendering(state, note=drawing.note)
    picture = drawing.picture
    tokens = tuple(
        DrawnToken(token, box)
        for token, box in zip(prepared.coloured.tokens, picture.boxes, strict=False)
        if box is not None
    )
    if not tokens:
        return Rendering(SideState.EMPTY, note="no token can be seen")
    return Rendering(SideState.OK, Side(tokens, picture.width_px, picture.height_px))
