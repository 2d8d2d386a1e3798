"""PDF files for the tests: real ones from tests/data/pdf, and made ones of a few objects."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tychora_functions.parse import pdf
from tychora_functions.parse.units import Document, Unit

FOLDER = Path(__file__).resolve().parents[1] / "data" / "pdf"
NAMES = sorted(path.name for path in FOLDER.glob("*.pdf"))


@cache
def content(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


@cache
def document(name: str) -> Document:
    """A parsed file of tests/data/pdf."""
    return pdf.parse(content(name), name)


def texts(units: list[Unit], *kinds: str) -> list[str]:
    return [unit.text for unit in units if not kinds or unit.kind in kinds]


def page_of(unit: Unit) -> int | None:
    return unit.place(0, len(unit.text)).page


def single_blanks(text: str) -> str:
    return " ".join(text.split())


def made(*pages: str, box: str = "0 0 300 200", extra: str = "") -> bytes:
    """A PDF of one page for each content stream; `/F1` is Helvetica, `/F2` Helvetica-Bold."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    fonts = "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    fonts += " /F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        f"<< /Font << {fonts} >> >>",
    ]
    for index, stream in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Resources 3 0 R /Contents {5 + 2 * index} 0 R {extra} >>"
        )
        objects.append(f"<< /Length {len(stream.encode('latin-1'))} >>\nstream\n{stream}\nendstream")
    body, places = "%PDF-1.7\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(body.encode("latin-1")))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    start = len(body.encode("latin-1"))
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    body += "".join(f"{place:010d} 00000 n \n" for place in places)
    body += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return body.encode("latin-1")


def shown(text: str, x: float = 20, y: float = 100, size: float = 12, font: str = "F1", before: str = "") -> str:
    """A content stream that shows `text` at a point."""
    return f"{before} BT /{font} {size} Tf {x} {y} Td ({text}) Tj ET"
