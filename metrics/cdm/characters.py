"""Plain characters of a formula as atoms, which depends on where they stand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from metrics.cdm.atoms import PRIME, SPACE, Atom, Item, Role, ScriptMark, atom, single_or_group


@dataclass(frozen=True, slots=True)
class Mode:
    """Where we are: in text or math, inside a roman font, and whether `'` means a superscript prime."""

    text: bool = False
    roman: bool = False
    prime_is_script: bool = True

    def inside(self) -> Mode:
        """The mode of a macro's argument: there `'` is a prime again."""
        return self if self.prime_is_script else replace(self, prime_is_script=True)

    def math(self) -> Mode:
        """The same place, read as math."""
        return replace(self, text=False)


def characters(chars: str, mode: Mode) -> list[Item]:
    """Items of plain characters: one atom each, with scripts, primes, spaces of text and `--` told apart."""
    items: list[Item] = []
    position = 0
    while position < len(chars):
        char = chars[position]
        position += 1
        if char.isspace():
            if mode.text and not (items and items[-1] == SPACE):
                items.append(SPACE)
        elif char in "^_":
            items.append(ScriptMark(char))
        elif char == "-" and not mode.text and chars.startswith("-", position):
            items.append(atom("-", "-") if mode.roman else atom("--"))
            position += 1
        elif char == "'":
            if mode.text or not mode.prime_is_script:
                items.append(Atom(("'",), Role.PRIME))
                continue
            count = 1
            while chars.startswith("'", position):
                count += 1
                position += 1
            items += [ScriptMark("^"), single_or_group([PRIME] * count)]
        else:
            items.append(atom(char))
    return items
