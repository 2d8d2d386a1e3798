"""A small library of real files, one of every kind of format, made here from nothing."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

__all__ = ["LIBRARY", "docx", "pdf", "write_library"]

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

HANDBOOK = """# Harbour handbook

## Mooring

A vessel moors at the north quay only after the harbour master has confirmed the berth in writing.
Code `MOOR-4711` stands on the confirmation.

## Fees

| item | fee |
| --- | --- |
| berth, per night | 41 EUR |
| water, per 100 l | 3 EUR |
"""


def docx(*paragraphs: str) -> bytes:
    """A Word document of plain paragraphs."""
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument'
        '.wordprocessingml.document.main+xml"/></Types>'
    )
    links = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>'
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as package:
        package.writestr("[Content_Types].xml", types)
        package.writestr("_rels/.rels", links)
        package.writestr("word/document.xml", f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>')
    return file.getvalue()


def pdf(*pages: str) -> bytes:
    """A PDF with one line of Helvetica text on each page."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(kids))
    data = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return data + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        table,
        size,
        len(data),
    )


LIBRARY = {
    "handbook.md": HANDBOOK.encode(),
    "notes/log.txt": "Erste Zeile über den Pegel.\r\nDie Schleuse blieb am Montag geschlossen.\r\n".encode("cp1252"),
    "notes/page.html": b"<html><body><h1>Dredging</h1><p>The contract &amp; its annex run to 2031.</p>"
    b"<p>It costs 5 &lt; 6.</p><table><tr><th>berth</th><th>fee</th></tr><tr><td>North &amp; east</td><td>41</td></tr>"
    b"</table></body></html>",
    "data/berths.csv": b"berth,depth\nNQ-1,7.5\nNQ-2,9.0\n",
    "data/tariff.json": b'{"tariff": {"name": "Winter \\u0022special\\u0022 tariff", "since": "2024-11-01"}}',
    "code/quay.py": b'"""Quays."""\n\n\ndef free_berths(quay):\n    """The berths of a quay that nobody holds."""\n'
    b"    return [berth for berth in quay if not berth.holder]\n",
    "minutes.docx": docx("Minutes of the harbour board", "The board postponed the question of the crane."),
    "leaflet.pdf": pdf("The tide gauge stands at pier seven.", "The lighthouse keeper retired in 1987."),
}


def write_library(folder: Path) -> Path:
    """Write the library's files below `folder`."""
    for name, data in LIBRARY.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder
