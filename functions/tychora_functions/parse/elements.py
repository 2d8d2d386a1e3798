"""The HTML elements: which begin a block, what they hold, which others they end."""

from __future__ import annotations

import re

from tychora_functions.parse.units import UnitKind

__all__ = ["BLOCKS", "CLOSED_BY", "HEADINGS", "UNSEEN", "kind_of", "marks"]

UNSEEN = frozenset(["script", "style", "template", "noscript", "iframe", "object", "datalist"])
"""Elements whose content no browser shows as text of the page."""

HEADINGS = {f"h{level}": level for level in range(1, 7)}

BLOCKS = frozenset([
    "address", "article", "aside", "blockquote", "caption", "center", "dd", "details", "dialog", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup",
    "hr", "legend", "li", "main", "menu", "nav", "ol", "option", "p", "pre", "search", "section", "summary", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
])  # fmt: skip
"""Elements that begin on a line of their own; all others only mark a part of a line."""

CLOSED_BY: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir", "table", "td", "th"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl", "table", "td", "th"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl", "table", "td", "th"})),
    "option": (frozenset({"option"}), frozenset({"table", "td", "th"})),
    "td": (frozenset({"td", "th", "caption"}), frozenset({"tr", "table"})),
    "th": (frozenset({"td", "th", "caption"}), frozenset({"tr", "table"})),
    "tr": (frozenset({"tr", "caption"}), frozenset({"table"})),
    **dict.fromkeys(
        ("thead", "tbody", "tfoot"),
        (frozenset({"thead", "tbody", "tfoot", "tr", "caption"}), frozenset({"table"})),
    ),
}
"""Which open elements a start tag ends, and the elements that it cannot reach through."""

_KINDS: dict[str, UnitKind] = {
    **dict.fromkeys(HEADINGS, "heading"),
    **dict.fromkeys(("li", "dt", "dd"), "list_item"),
    "pre": "code",
    "figcaption": "figure",
}
_PARAGRAPHS = frozenset(
    ["p", "blockquote", "td", "th", "caption", "section", "article", "main", "nav", "aside", "footer", "table"]
)
_FURNITURE = frozenset(["nav", "footer", "aside"])
_FURNITURE_ROLES = frozenset(["navigation", "contentinfo", "complementary", "search"])
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def kind_of(tag: str, above: UnitKind) -> UnitKind:
    """The kind of the text directly in a block, which stands in text of the kind `above`: a `p` in a list item is
    the item's, a `div` whatever it stands in.
    """
    own = _KINDS.get(tag)
    return own or ("paragraph" if tag in _PARAGRAPHS and above != "list_item" else above)


def marks(tag: str, attributes: dict[str, str]) -> dict[str, str]:
    """`furniture` for navigation and what surrounds the page's own content, `hidden` for what the page hides."""
    found = {}
    if tag in _FURNITURE or attributes.get("role") in _FURNITURE_ROLES:
        found["furniture"] = "true"
    if "hidden" in attributes or _INVISIBLE.search(attributes.get("style", "")):
        found["hidden"] = "true"
    return found
