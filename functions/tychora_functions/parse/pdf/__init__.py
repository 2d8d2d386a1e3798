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
    found = []
    for number, page in enumerate(pages, 1):
        if not page.lines and number not in damaged:
            found.append(f"page {number} has no text")
        if any(line.unseen for line in page.lines):
            found.append(f"page {number} has hidden text")
        if any(line.recognised for line in page.lines):
            found.append(f"page {number} is a scan with recognised text")
        if page.unknown:
            found.append(f"page {number} has {page.unknown} characters of unknown meaning")
    return found
