"""PDF: the text layer of every page as units with page and boxes, in reading order.

`text` is what pdfium reads, line by line; a line-end hyphen is U+FFFE there, for pdfium cannot tell a soft one from a
hard one. `tychora_functions.parse.normal` makes it readable.
"""

from __future__ import annotations

from tychora_functions.parse.pdf import opening
from tychora_functions.parse.pdf.assembly import largest_heading, units
from tychora_functions.parse.pdf.pages import PageText, read_page
from tychora_functions.parse.pdf.reading import text_in
from tychora_functions.parse.units import Document
from tychora_schemas.errors import MalformedContent, UnsupportedContent
from tychora_schemas.locator import Locator

__all__ = ["parse", "read_at"]


def parse(data: bytes, name: str) -> Document:
    """The units of a PDF, page by page; what could not be read is said in `warnings`.

    Raises UnsupportedContent where a password is needed or no page has text, MalformedContent where it is no PDF.
    """
    with opening.open_document(data, name) as document:
        count = len(document)
        if count == 0:
            raise MalformedContent(f"{name}: a PDF without pages", next_step="save it again from its source")
        warnings: list[str] = []
        pages, damaged = [], []
        for index in range(count):
            with opening.open_page(document, index) as page:
                pages.append(read_page(page, index + 1) if page else PageText())
                if page is None:
                    damaged.append(index + 1)
        if not any(page.lines or page.notes for page in pages):
            raise UnsupportedContent(
                f"{name}: no page has text; it looks like a scan and needs text recognition (OCR)",
                next_step="run OCR over it, for example with ocrmypdf, and add the result",
            )
        labels = [opening.page_label(document, index) for index in range(count)]
        found = list(units(pages, labels, opening.outline(document)))
        warnings += [f"page {number} is damaged and was not read" for number in damaged]
        warnings += _page_warnings(pages, damaged)
        warnings += [f"the attached file {attached!r} was not read" for attached in opening.attachments(document)]
        return Document(
            kind="document",
            units=found,
            title=opening.title(document) or largest_heading(found),
            language=opening.language(document),
            warnings=warnings,
        )


def read_at(data: bytes, locator: Locator) -> str:
    """The text at `locator`, read from the page again; it equals the quote but for blanks. Empty where nothing is.

    Raises MalformedContent where the file has no such page, and what opening the file raises.
    """
    with opening.open_document(data, "the file") as document:
        if locator.page is None or locator.page > len(document):
            raise MalformedContent(f"the file has no page {locator.page}", next_step="check the citation's revision")
        with opening.open_page(document, locator.page - 1) as page:
            return text_in(page, locator) if page else ""


def _page_warnings(pages: list[PageText], damaged: list[int]) -> list[str]:
    """What is odd about pages, each oddity once with the pages that have it."""
    odd: dict[str, list[int]] = {}
    for number, page in enumerate(pages, 1):
        if not page.lines and number not in damaged:
            odd.setdefault("without text", []).append(number)
        if any(line.unseen for line in page.lines):
            odd.setdefault("with hidden text", []).append(number)
        if any(line.recognised for line in page.lines):
            odd.setdefault("that are scans with recognised text", []).append(number)
        if page.unknown:
            odd.setdefault("with characters of unknown meaning", []).append(number)
    return [f"pages {what}: {_ranges(numbers)}" for what, numbers in odd.items()]


def _ranges(numbers: list[int]) -> str:
    """`1–3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("–".join(map(str, run)) for run in runs)
