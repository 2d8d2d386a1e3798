"""A locator is said in the words of whoever looks the place up."""

from __future__ import annotations

import pytest

from tychora_client.render.places import place
from tychora_schemas.locator import Box, Locator


def box(page: int) -> Box:
    return Box(page=page, x0=1, y0=1, x1=2, y1=2)


@pytest.mark.parametrize(
    ("locator", "words"),
    [
        (Locator(page=15), "p. 15"),
        (Locator(page=15, page_label="15", boxes=(box(15),)), "p. 15"),
        (Locator(page=15, page_label="xi"), "p. 15 (printed xi)"),
        (Locator(page=15, boxes=(box(15), box(16))), "pp. 15–16"),
        (Locator(page=3, derived=True), "p. 3, recognised text"),
        (Locator(lines=(7, 9), bytes=(100, 140)), "lines 7–9"),
        (Locator(lines=(7, 7)), "line 7"),
        (Locator(slide=3), "slide 3"),
        (Locator(sheet="Budget", cells="B2:D4"), "sheet Budget B2:D4"),
        (Locator(cells="B2", lines=(2, 2)), "B2, line 2"),
        (Locator(part="word/document.xml", path="body/p[12]", transform="docx"), "paragraph 12"),
        (Locator(part="word/document.xml", path="body/p[12]..body/p[14]", transform="docx"), "paragraphs 12–14"),
        (Locator(part="word/footnotes.xml", path="footnote[2]/p[1]", transform="docx"), "footnotes, paragraph 1"),
        (Locator(part="word/document.xml", path="body/tbl[2]/tr[3]", transform="docx"), "table 2, row 3"),
        (Locator(path="body/tbl[2]/tr[3]..body/tbl[2]/tr[9]", transform="docx"), "table 2, rows 3–9"),
        (Locator(path="body/p[4]..body/tbl[1]/tr[2]", transform="docx"), "paragraph 4 to table 1, row 2"),
        (Locator(path="$.items[3].p[2]", transform="json"), "$.items[3].p[2]"),
        (Locator(path="/html/body/p[2]", transform="html"), "/html/body/p[2]"),
        (Locator(), ""),
    ],
)
def test_place(locator: Locator, words: str) -> None:
    assert place(locator) == words
