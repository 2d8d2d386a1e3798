"""Office Math (OMML) as one line of text, in the spirit of Unicode's linear format for mathematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tychora_functions.parse.docx.markup import MATH, local_name

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["linearise"]

DEFAULT_OPERATOR = "∫"
"""The operator sign of an n-ary object that states none (ECMA-376 part 1, 22.1.2.20)."""


def linearise(element: Element) -> str:
    """The formula below `element`: `(a+b)/2`, `x^2`, `x_i`, `√(x)`, `∑_(i=1)^n`, rows and cells as `[a, b; c,
    d]`.
    """
    kind = local_name(element)
    if kind == "t":
        return element.text or ""
    if kind.endswith("Pr"):
        return ""
    render = _FORMS.get(kind)
    return render(element) if render else _children(element)


def _children(element: Element) -> str:
    return "".join(linearise(child) for child in element)


def _part(element: Element, name: str) -> str:
    found = element.find(f"{{{MATH}}}{name}")
    return "" if found is None else _children(found)


def _parts(element: Element, name: str) -> list[str]:
    return [_children(found) for found in element.findall(f"{{{MATH}}}{name}")]


def _property(element: Element, name: str) -> str | None:
    for properties in element:
        if local_name(properties).endswith("Pr"):
            found = properties.find(f"{{{MATH}}}{name}")
            if found is not None:
                return found.get(f"{{{MATH}}}val", "")
    return None


def _group(text: str) -> str:
    """`text` in parentheses unless it reads as one thing without them."""
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _index(sign: str, text: str) -> str:
    return f"{sign}{_group(text)}" if text else ""


def _fraction(element: Element) -> str:
    above, below = _part(element, "num"), _part(element, "den")
    if _property(element, "type") == "noBar":
        return f"({above} ¦ {below})"
    return f"{_group(above)}/{_group(below)}"


def _radical(element: Element) -> str:
    degree = _part(element, "deg")
    return f"{f'root {degree} of ' if degree else '√'}({_part(element, 'e')})"


def _n_ary(element: Element) -> str:
    sign = _property(element, "chr") or DEFAULT_OPERATOR
    return f"{sign}{_scripts(element)} {_part(element, 'e')}"


def _scripts(element: Element) -> str:
    return _index("_", _part(element, "sub")) + _index("^", _part(element, "sup"))


def _delimited(element: Element) -> str:
    begin, end, between = (_property(element, name) for name in ("begChr", "endChr", "sepChr"))
    inner = ("|" if between is None else between).join(_parts(element, "e"))
    return f"{'(' if begin is None else begin}{inner}{')' if end is None else end}"


def _matrix(element: Element) -> str:
    rows = [", ".join(_parts(row, "e")) for row in element.findall(f"{{{MATH}}}mr")]
    return f"[{'; '.join(rows)}]"


_FORMS: dict[str, Callable[[Element], str]] = {
    "f": _fraction,
    "rad": _radical,
    "nary": _n_ary,
    "d": _delimited,
    "m": _matrix,
    "eqArr": lambda element: "; ".join(_parts(element, "e")),
    "sSup": lambda element: _part(element, "e") + _scripts(element),
    "sSub": lambda element: _part(element, "e") + _scripts(element),
    "sSubSup": lambda element: _part(element, "e") + _scripts(element),
    "sPre": lambda element: _scripts(element) + _part(element, "e"),
    "limLow": lambda element: _part(element, "e") + _index("_", _part(element, "lim")),
    "limUpp": lambda element: _part(element, "e") + _index("^", _part(element, "lim")),
    "func": lambda element: f"{_part(element, 'fName')} {_part(element, 'e')}",
    "acc": lambda element: _part(element, "e") + (_property(element, "chr") or "\u0302"),
}
