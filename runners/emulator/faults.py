"""Faults that the emulated server commits on purpose, by rule or on request, so that clients can be tested."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evalkit.errors import UserError, unknown_name

FAULT_HEADER = "X-Evalkit-Fault"
FAULT_FIELD = "evalkit_fault"


class FaultKind(StrEnum):
    """What goes wrong; the number after a colon is its value.

    error: HTTP status (500). hang: never answers. cut: ends the connection after so many chunks (3). malformed: sends a
    chunk that is no JSON after so many (1). repeat: goes on in a loop to the token limit. wrong_usage: reports so many
    times the tokens (2). slow_first: so many emulated seconds before the first chunk (10). out_of_order: branches in
    the order in which they ended. crash: the server is gone.
    """

    ERROR = "error"
    HANG = "hang"
    CUT = "cut"
    MALFORMED = "malformed"
    REPEAT = "repeat"
    WRONG_USAGE = "wrong_usage"
    SLOW_FIRST = "slow_first"
    OUT_OF_ORDER = "out_of_order"
    CRASH = "crash"


DEFAULTS = {
    FaultKind.ERROR: 500.0,
    FaultKind.CUT: 3.0,
    FaultKind.MALFORMED: 1.0,
    FaultKind.WRONG_USAGE: 2.0,
    FaultKind.SLOW_FIRST: 10.0,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault with its value."""

    kind: FaultKind
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class FaultRule:
    """A fault and the requests that it hits: the nth (from 1), every nth, or all of one page."""

    fault: Fault
    number: int | None = None
    every: int | None = None
    page: str | None = None

    def hits(self, number: int, page_id: str) -> bool:
        """Whether request `number` for a page commits the fault."""
        if self.page is not None:
            return page_id == self.page
        if self.every is not None:
            return number % self.every == 0
        return self.number is None or number == self.number


def parse_fault(text: str) -> Fault:
    """`kind` or `kind:value`. Raises UserError naming the known kinds."""
    name, _, value = text.partition(":")
    if name not in set(FaultKind):
        raise unknown_name("fault", name, list(FaultKind))
    kind = FaultKind(name)
    try:
        return Fault(kind, float(value) if value else DEFAULTS.get(kind, 0.0))
    except ValueError as error:
        raise UserError(f"fault {text!r}: {value!r} is not a number; write for example cut:5") from error


def parse_rule(text: str) -> FaultRule:
    """`fault`, `fault@n`, `fault@every:n` or `fault@page:NAME`."""
    what, _, where = text.partition("@")
    fault = parse_fault(what)
    if where.startswith("page:"):
        return FaultRule(fault, page=where.removeprefix("page:"))
    found = re.fullmatch(r"(every:)?([1-9]\d*)", where)
    if where and found is None:
        raise UserError(f"fault rule {text!r}: after @ comes a request number, every:N or page:NAME")
    if found is None:
        return FaultRule(fault)
    number = int(found.group(2))
    return FaultRule(fault, every=number) if found.group(1) else FaultRule(fault, number=number)


def first_hit(rules: Sequence[FaultRule], number: int, page_id: str) -> Fault | None:
    """The fault of the first rule that hits a request."""
    return next((rule.fault for rule in rules if rule.hits(number, page_id)), None)
