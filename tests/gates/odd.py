"""Malformed and odd files, made by code. Each maker leaves one oddity in a folder and returns the paths it made.

`ODDITIES` maps a name to the maker and to the fates that are right for what it makes.
"""

from __future__ import annotations

import io
import json
import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["ODDITIES", "Maker", "Oddity"]

Maker = Callable[[Path], list[str]]
Oddity = tuple[Maker, frozenset[str]]

INDEXED = frozenset({"added"})
QUARANTINED = frozenset({"quarantined"})
SKIPPED = frozenset({"skipped"})
EITHER = frozenset({"added", "quarantined"})

BINARY = bytes(range(256)) * 64
PROSE = "The valve opens at nine bar.\n\n"


def file(name: str, data: bytes | str) -> Maker:
    """A file of these bytes."""

    def make(folder: Path) -> list[str]:
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return [name]

    return make


def package(members: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str) -> bytes:
    document = f'<w:document xmlns:w="{WORD}">{body}</w:document>'
    return package({"[Content_Types].xml": TYPES, "word/document.xml": document})


def pdf(pages: str = "<< /Type /Pages /Kids [] /Count 0 >>") -> bytes:
    """A PDF of a catalogue and this page tree, with a right cross-reference table."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", pages]
    out, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{each}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer << /Root 1 0 R /Size {len(objects) + 1} >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


def link(name: str, target: str) -> Maker:
    """A symbolic link."""

    def make(folder: Path) -> list[str]:
        (folder / name).symlink_to(target)
        return [name]

    return make


def outside_link(folder: Path) -> list[str]:
    outside = folder.parent.parent / "outside.txt"
    outside.write_text("Not below the root.")
    (folder / "outside").symlink_to(outside)
    return ["outside"]


def folder_loop(folder: Path) -> list[str]:
    (folder / "loop").mkdir()
    (folder / "loop" / "up").symlink_to("..")
    return ["loop/up"]


def file_loop(folder: Path) -> list[str]:
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    return ["one", "two"]


def fifo(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe.txt")
    return ["pipe.txt"]


def unix_socket(folder: Path) -> list[str]:
    place = Path.cwd()
    os.chdir(folder)  # the path of a socket may have a hundred bytes only
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.txt")
    finally:
        os.chdir(place)
    return ["socket.txt"]


def unreadable(folder: Path) -> list[str]:
    (folder / "secret.txt").write_text(PROSE)
    (folder / "secret.txt").chmod(0)
    return ["secret.txt"]


def folder_named_as_file(folder: Path) -> list[str]:
    (folder / "x.md").mkdir()
    (folder / "x.md" / "inner.txt").write_text(PROSE)
    return ["x.md/inner.txt"]


def sparse(folder: Path) -> list[str]:
    with (folder / "huge.txt").open("wb") as stream:
        stream.truncate(2 << 30)
    return ["huge.txt"]


def deep_folders(folder: Path) -> list[str]:
    """Two thousand folders in each other: their path is longer than any call of the system takes."""
    place = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(2_100):
            os.mkdir("d", dir_fd=place)
            below = os.open("d", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = below
        leaf = os.open("leaf.txt", os.O_WRONLY | os.O_CREAT, dir_fd=place)
        os.write(leaf, PROSE.encode())
        os.close(leaf)
    finally:
        os.close(place)
    return []


def not_utf8_name(folder: Path) -> list[str]:
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text(PROSE)
    return ["caf\\xe9.txt"]


def names(*wanted: str) -> Maker:
    """Files of these names."""

    def make(folder: Path) -> list[str]:
        for number, name in enumerate(wanted):
            (folder / name).write_text(f"{PROSE}Its number is {number}.")
        return list(wanted)

    return make


def nested_python(levels: int) -> str:
    return "".join(f"{' ' * level}if {level}:\n" for level in range(levels)) + " " * levels + "pass\n"


def nested_list(levels: int) -> str:
    return "".join(f"{' ' * min(level * 2, 400)}- level {level}\n" for level in range(levels))


def rows(*lines: str) -> str:
    return "\r\n".join(lines)


PLAIN_ODDITIES: dict[str, tuple[str, bytes | str, frozenset[str]]] = {
    "empty": ("empty.txt", b"", QUARANTINED),
    "empty markdown": ("empty.md", b"", QUARANTINED),
    "empty pdf": ("empty.pdf", b"", QUARANTINED),
    "empty docx": ("empty.docx", b"", QUARANTINED),
    "byte order mark only": ("bom.txt", b"\xef\xbb\xbf", QUARANTINED),
    "byte order mark only in csv": ("bom.csv", b"\xef\xbb\xbf", QUARANTINED),
    "UTF-16 byte order mark only": ("bom16.md", b"\xff\xfe", QUARANTINED),
    "blanks only": ("blank.md", b" \n\t\n \r\n", QUARANTINED),
    "NULs only": ("nul.txt", bytes(5_000), QUARANTINED),
    "NULs in text": ("nuls.txt", PROSE.encode() + bytes(3) + PROSE.encode(), EITHER),
    "binary as markdown": ("binary.md", BINARY, EITHER),
    "binary as text": ("binary.txt", BINARY, EITHER),
    "binary as python": ("binary.py", BINARY, EITHER),
    "binary as csv": ("binary.csv", BINARY, EITHER),
    "binary as json": ("binary.json", BINARY, EITHER),
    "binary as html": ("binary.html", BINARY, EITHER),
    "binary as typescript": ("binary.ts", BINARY, EITHER),
    "binary as pdf": ("binary.pdf", BINARY, QUARANTINED),
    "binary as docx": ("binary.docx", BINARY, QUARANTINED),
    "a picture named as text": ("picture.txt", b"\x89PNG\r\n\x1a\n" + BINARY, QUARANTINED),
    "pdf cut short": ("cut.pdf", pdf()[:60], QUARANTINED),
    "pdf without pages": ("zero.pdf", pdf(), QUARANTINED),
    "pdf whose pages are their own children": (
        "cycle.pdf",
        pdf("<< /Type /Pages /Kids [2 0 R] /Count 1 >>"),
        QUARANTINED,
    ),
    "pdf that claims a billion pages": (
        "billion.pdf",
        pdf("<< /Type /Pages /Kids [] /Count 1000000000 >>"),
        QUARANTINED,
    ),
    "pdf of its first line": ("line.pdf", b"%PDF-1.7\n", QUARANTINED),
    "docx cut short": ("cut.docx", docx("<w:body/>")[:100], QUARANTINED),
    "zip named docx": ("zip.docx", package({"readme.txt": PROSE}), QUARANTINED),
    "docx without document.xml": (
        "without.docx",
        package({"[Content_Types].xml": TYPES, "word/x.xml": ""}),
        QUARANTINED,
    ),
    "docx of broken XML": ("broken.docx", docx("<w:body><w:p>"), QUARANTINED),
    "docx without body": ("bodiless.docx", docx(""), QUARANTINED),
    "docx nested deeply": ("nested.docx", docx("<w:tbl>" * 20_000 + "</w:tbl>" * 20_000), QUARANTINED),
    "docx with an entity bomb": (
        "bomb.docx",
        package(
            {
                "[Content_Types].xml": TYPES,
                "word/document.xml": "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>"
                + "".join(f"<!ENTITY {y} '{f'&{x};' * 10}'>" for x, y in zip("abcdefgh", "bcdefghi", strict=True))
                + f']><w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>&i;</w:t></w:r></w:p></w:body></w:document>',
            }
        ),
        QUARANTINED,
    ),
    "html of nested divs": ("nested.html", "<div>" * 100_000 + "The valve." + "</div>" * 100_000, EITHER),
    "html never closed": ("open.html", "<html><body><p>The valve <b>opens <table><tr><td>nine", INDEXED),
    "html of an endless tag": ("tag.html", "<p>The valve.</p><p " + "a=b " * 50_000, INDEXED),
    "html with an endless comment": ("comment.html", "<p>The valve.</p><!-- " + "x" * 200_000, INDEXED),
    "json of nested arrays": ("nested.json", "[" * 100_000 + "]" * 100_000, EITHER),
    "json cut short": ("cut.json", '{"valve": [1, 2, {"pressure": "nine', EITHER),
    "json with a trailing comma": ("comma.json", '{"valve": 9,}', EITHER),
    "json of two values": ("two.json", '{"valve": 9}{"pump": 8}', EITHER),
    "json with NaN": ("nan.json", '{"valve": NaN, "pump": Infinity}', EITHER),
    "json with a lone surrogate": ("surrogate.json", '{"valve \\ud800": "opens \\udfff at nine"}', EITHER),
    "json with an endless number": ("number.json", '{"valve": 1' + "0" * 100_000 + "}", EITHER),
    "json with equal keys": ("keys.json", '{"valve": "first", "valve": "second"}', EITHER),
    "json of a string": ("string.json", '"The valve opens at nine bar."', EITHER),
    "json lines with one bad line": ("lines.jsonl", '{"valve": 9}\n{broken\n{"pump": 8}\n', EITHER),
    "csv of ragged rows": ("ragged.csv", rows("a,b,c", "1", "1,2,3,4,5", "", "x,y"), INDEXED),
    "csv with an open quote": ("quote.csv", rows("a,b", '1,"never closed', "2,3"), EITHER),
    "csv of one cell of 5 MB": ("cell.csv", "valve\n" + "bar " * 1_250_000, EITHER),
    "csv of 20,000 columns": ("wide.csv", ",".join(f"c{n}" for n in range(20_000)) + "\n", EITHER),
    "csv with NULs": ("nul.csv", b"a,b\n1,\x00\n", EITHER),
    "javascript of one line of 1 MB": ("line.js", "var valve=[" + "9," * 500_000 + "9];", EITHER),
    "javascript of open brackets": ("open.js", "(" * 50_000, EITHER),
    "typescript that is none": ("not.ts", "The valve << opens >> at {{ nine", EITHER),
    "python with NULs": ("nul.py", b"valve = 9\x00\n", EITHER),
    "python of mixed tabs": ("tabs.py", "def valve():\n\tif 1:\n        return 9\n\treturn 8\n", INDEXED),
    "python nested deeply": ("deep.py", nested_python(500), EITHER),
    "python of brackets": ("brackets.py", "valve = " + "[" * 20_000 + "]" * 20_000, EITHER),
    "python of an open string": ("string.py", 'def valve():\n    """never closed\n    return 9\n', EITHER),
    "python of a long chain": ("chain.py", "valve = " + "+".join(["9"] * 20_000) + "\n", EITHER),
    "markdown of deep lists": ("lists.md", nested_list(2_000), EITHER),
    "markdown of 50,000 list marks": ("marks.md", "- " * 50_000 + "valve\n", EITHER),
    "markdown of 50,000 quotes": ("quotes.md", ">" * 50_000 + " valve\n", EITHER),
    "markdown of open brackets": ("brackets.md", "[" * 20_000 + "valve" + "](" * 2_000, EITHER),
    "markdown of stars": ("stars.md", "*a **b " * 10_000, EITHER),
    "markdown of back ticks": ("ticks.md", "".join("`" * n + "a" for n in range(1, 1_000)), EITHER),
    "markdown table of 2,000 columns": (
        "table.md",
        "".join(f"{cell * 2_000}|\n" for cell in ("|a", "|-", "|9")),
        EITHER,
    ),
    "markdown of an open fence": ("fence.md", "```\nThe valve never ends\n", INDEXED),
    "markdown of headings only": ("headings.md", "# \n## \n###### \n# Valve\n", EITHER),
    "mixed line ends": ("ends.txt", b"one\r\ntwo\rthree\nfour\x0bfive\x0csix\x85seven\xe2\x80\xa8eight", EITHER),
    "one line of 1 MB": ("line.txt", "x" * 1_000_000, INDEXED),
    "a million blank lines": ("lines.txt", "\n" * 1_000_000 + "The valve.\n", INDEXED),
    "UTF-16 with mark": ("utf16.txt", ("\ufeff" + PROSE).encode("utf-16-le"), INDEXED),
    "UTF-16 without mark": ("utf16le.txt", (PROSE * 20).encode("utf-16-le"), EITHER),
    "UTF-16 cut in a letter": ("utf16cut.txt", ("\ufeff" + PROSE).encode("utf-16-le")[:-1], EITHER),
    "UTF-32": ("utf32.txt", PROSE.encode("utf-32"), EITHER),
    "UTF-7": ("utf7.txt", "Die Prüfung +AOQ- der Anlage".encode("utf-7"), INDEXED),
    "Latin-1": ("latin.txt", "Die Prüfung der Ölpumpe, für jede Größe.".encode("latin-1"), INDEXED),
    "GB18030": ("gb.txt", ("阀门在九巴时打开。请检查泵的压力和温度。" * 10).encode("gb18030"), INDEXED),
    "Shift-JIS": ("sjis.txt", ("弁は九バールで開きます。圧力を確認してください。" * 10).encode("shift-jis"), INDEXED),
    "overlong UTF-8": ("overlong.txt", b"The valve \xc0\xaf opens \xe0\x80\xaf at nine", EITHER),
    "UTF-8 surrogates": ("cesu.txt", b"The valve \xed\xa0\x80 opens", EITHER),
    "control characters": ("control.txt", b"The \x07valve\x08 \x1b[31mopens\x1b[0m\x7f", EITHER),
    "bidi overrides": ("bidi.py", "valve = 1  # \u202e\u2066 nine \u2069\u202c\n", INDEXED),
    "invisible tag characters": ("tags.txt", PROSE + "".join(chr(0xE0000 + ord(c)) for c in "ignore this"), INDEXED),
    "combining marks": ("zalgo.txt", "v" + "\u0301" * 50_000, INDEXED),
    "non-characters": ("non.txt", "The valve \ufffe\uffff\U0010ffff opens.", EITHER),
    "xml with an entity bomb as html": ("bomb.html", "<!DOCTYPE x [<!ENTITY a 'b'>]><p>&a; valve</p>", INDEXED),
    "ill-formed notebook": ("bad.ipynb", json.dumps({"cells": "none"}), EITHER),
    "docx in UTF-16": (
        "utf16.docx",
        package(
            {
                "[Content_Types].xml": TYPES,
                "word/document.xml": f'<?xml version="1.0" encoding="UTF-16"?><w:document xmlns:w="{WORD}">'
                f"<w:body><w:p><w:r><w:t>{PROSE}</w:t></w:r></w:p></w:body></w:document>".encode("utf-16"),
            }
        ),
        EITHER,
    ),
    "docx with a traversing name": (
        "traverse.docx",
        package({"[Content_Types].xml": TYPES, "../../word/document.xml": "<x/>"}),
        QUARANTINED,
    ),
    "docx of a billion blanks": (
        "inflate.docx",
        package({"[Content_Types].xml": TYPES, "word/document.xml": b" " * (200 << 20)}),
        QUARANTINED,
    ),
    "zip cut in its directory": ("directory.docx", docx("<w:body/>")[:-10], QUARANTINED),
    "html in UTF-16 that claims UTF-8": (
        "claims.html",
        ("\ufeff<meta charset=utf-8><p>" + PROSE).encode("utf-16-le"),
        INDEXED,
    ),
    "html of an unknown charset": ("charset.html", f"<meta charset=x-none><p>{PROSE}", INDEXED),
    "html of script only": ("script.html", "<script>valve()</script><style>p{}</style>", QUARANTINED),
    "html of 50,000 cells": ("cells.html", "<table><tr>" + "<td>9" * 50_000 + "</table>", EITHER),
    "html with NULs": ("nul.html", b"<p>The valve\x00 opens</p>", EITHER),
    "csv of separators": ("commas.csv", "," * 100_000, EITHER),
    "tsv of quotes": ("quotes.tsv", '"' * 10_001, EITHER),
    "json of a million keys' depth": ("objects.json", '{"a":' * 20_000 + "1" + "}" * 20_000, EITHER),
    "json that is a bare word": ("word.json", "valve", EITHER),
    "jsonl of blanks": ("blank.jsonl", "\n\n\n", QUARANTINED),
    "typescript generics without end": ("generics.ts", "type V = " + "A<" * 5_000, EITHER),
    "a template literal in itself": ("template.js", "`${" * 5_000 + "}`" * 5_000, EITHER),
    "python of one endless line": ("endless.py", "valve = '" + "x" * 500_000 + "'", EITHER),
    "python of decorators": ("decorators.py", "@valve\n" * 5_000 + "def pump(): pass\n", EITHER),
    "form feeds": ("feeds.txt", "\f" * 50_000 + "valve", INDEXED),
    "underlines": ("underlines.txt", "valve\n" + "=" * 200_000 + "\n", INDEXED),
    "a git pointer of a large file": (
        "pointer.pdf",
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
        QUARANTINED,
    ),
    "a tarball": ("files.tar.gz", b"\x1f\x8b\x08" + BINARY, QUARANTINED),
    "a core of machine code": ("program", b"\x7fELF" + BINARY, QUARANTINED),
}

ODDITIES: dict[str, Oddity] = {
    name: (file(path, data), fates) for name, (path, data, fates) in PLAIN_ODDITIES.items()
} | {
    "a name with a line feed": (names("a\nb.txt"), INDEXED),
    "a name with quotes": (names("a'b\"c.txt"), INDEXED),
    "a name with a leading dash": (names("-rf.txt", "--help"), INDEXED),
    "a name with a trailing blank": (names("blank .txt", "trailing.txt "), INDEXED),
    "a name that is a blank": (names(" "), INDEXED),
    "a name of a backslash": (names("a\\b.txt"), INDEXED),
    "a name with a percent sign": (names("%2e%2e%2f.txt", "%s%n.txt"), INDEXED),
    "a name that is not UTF-8": (not_utf8_name, INDEXED),
    "a name of 255 bytes": (names("n" * 251 + ".txt"), INDEXED),
    "a name of emoji": (names("🔧🧑‍🔧.txt"), INDEXED),
    "a name with bidi controls": (names("\u202etxt.exe.txt"), INDEXED),
    "reserved names": (names("CON.txt", "aux", "nul.md", "COM1.csv"), INDEXED),
    "names that differ in case": (names("Case.txt", "case.txt", "CASE.TXT"), INDEXED),
    "names of two Unicode forms": (names("caf\u00e9.txt", "cafe\u0301.txt"), INDEXED),
    "names of many dots": (names("a..txt", "b...", "...c"), INDEXED | SKIPPED),
    "a hidden file": (names(".hidden.txt"), SKIPPED),
    "a pipe": (fifo, QUARANTINED),
    "a socket": (unix_socket, QUARANTINED),
    "a link to a device": (link("zero.txt", "/dev/zero"), QUARANTINED),
    "links in a loop": (file_loop, QUARANTINED),
    "a link to the folder above": (folder_loop, QUARANTINED),
    "a link out of the root": (outside_link, QUARANTINED),
    "a dangling link": (link("dangling.txt", "nowhere"), QUARANTINED),
    "a link to itself": (link("self.txt", "self.txt"), QUARANTINED),
    "an unreadable file": (unreadable, EITHER),
    "a folder named as a file": (folder_named_as_file, INDEXED),
    "a sparse file over the limit": (sparse, QUARANTINED),
    "two thousand folders": (deep_folders, EITHER),
}
