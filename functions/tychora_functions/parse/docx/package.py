"""The zip container of an Office file, read with limits: nothing in it can take more memory than is stated
here.
"""

from __future__ import annotations

import posixpath
import zlib
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from tychora_functions.parse.docx.markup import STRICT
from tychora_schemas.errors import MalformedContent, UnsupportedContent

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["ENTRY_LIMIT", "MARKUP_LIMIT", "PART_LIMIT", "RATIO_LIMIT", "Package"]

ENTRY_LIMIT = 10_000
"""Members of the container."""
PART_LIMIT = 200_000_000
"""Bytes of one part when inflated."""
RATIO_LIMIT = 250
"""Inflated over packed size of a part beyond `RATIO_FLOOR`; text in markup packs 10 to 60 times smaller."""
RATIO_FLOOR = 20_000_000
MARKUP_LIMIT = 3_000_000
"""Tags and attributes of one part, some 6,000 pages: each costs 100 to 200 bytes in memory, however short it is."""

OLE_MAGIC = bytes.fromhex("d0cf11e0a1b11ae1")
ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


class Package:
    """An opened Office file. Raises `UnsupportedContent` for encrypted and pre-2007 files, and
    `MalformedContent` for what is no zip, for a member count over `ENTRY_LIMIT` and, when it is read, for a
    part over any other limit.

    Member names are only ever looked up in the container itself, so a name such as `../x` leads nowhere.
    """

    def __init__(self, data: bytes) -> None:
        if data.startswith(OLE_MAGIC):
            if ENCRYPTED_STREAM in data:
                raise UnsupportedContent(
                    "the file is encrypted", next_step="open it with its password and save it without one"
                )
            raise UnsupportedContent("a Word file from before 2007", next_step="save it as .docx")
        # The directory is counted before `ZipFile` makes an object of each of its entries.
        if data.count(b"PK\x01\x02") > ENTRY_LIMIT:
            raise _malformed(f"the container has more than {ENTRY_LIMIT} members")
        try:
            self._zip = ZipFile(BytesIO(data))
        except (BadZipFile, ValueError, OverflowError, EOFError, UnicodeDecodeError) as error:
            raise _malformed(f"not a zip container: {error}") from error
        except NotImplementedError as error:
            raise UnsupportedContent(str(error), next_step="save the file again with Word") from error
        self._names = set(self._zip.namelist())

    def __contains__(self, part: str) -> bool:
        return part in self._names

    def read(self, part: str) -> bytes:
        """The inflated bytes of a part that is there."""
        info = self._zip.getinfo(part)
        if info.flag_bits & 1:
            raise UnsupportedContent(f"{part} is encrypted", next_step="save the file without a password")
        try:
            with self._zip.open(info) as stream:
                # The size that the directory states may be a lie: what arrives is what counts.
                data = stream.read(PART_LIMIT + 1)
        except (BadZipFile, zlib.error, EOFError, ValueError, OSError) as error:
            raise _malformed(f"{part} cannot be unpacked: {error}") from error
        except NotImplementedError as error:
            raise UnsupportedContent(f"{part}: {error}", next_step="save the file again with Word") from error
        if len(data) > PART_LIMIT:
            raise _malformed(f"{part} holds more than {PART_LIMIT} bytes")
        if len(data) > RATIO_FLOOR and len(data) > RATIO_LIMIT * max(info.compress_size, 1):
            raise _malformed(f"{part} is packed more than {RATIO_LIMIT} times smaller than it is")
        return data

    def tree(self, part: str) -> Element:
        """The root element of a part that is there, its strict names turned into transitional ones."""
        from lxml import etree

        data = self.read(part)
        if data.count(b"<") + data.count(b"=") > MARKUP_LIMIT:
            raise _malformed(f"{part} has more than {MARKUP_LIMIT} tags and attributes")
        if b"<!DOCTYPE" in data:
            raise _malformed(f"{part} declares a document type, which Office files must not")
        if b"purl.oclc.org" in data:
            for strict, transitional in STRICT.items():
                data = data.replace(f'"{strict}"'.encode(), f'"{transitional}"'.encode())
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError as error:
            raise _malformed(f"{part} is not well-formed: {error}") from error
        # Seen only after parsing where the part is not in an encoding that extends ASCII.
        if root.getroottree().docinfo.internalDTD is not None:
            raise _malformed(f"{part} declares a document type, which Office files must not")
        return root

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """What a part refers to inside the container: id → (last word of the type, full part name).

        A missing or broken list of relations is an empty one; external targets are left out.
        """
        folder, name = posixpath.split(part)
        listing = posixpath.join(folder, "_rels", f"{name}.rels")
        if listing not in self:
            return {}
        try:
            root = self.tree(listing)
        except MalformedContent:
            return {}
        found: dict[str, tuple[str, str]] = {}
        for relation in root.iter(RELATIONSHIP):
            target = relation.get("Target", "")
            if relation.get("TargetMode") != "External" and target:
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                found[relation.get("Id", "")] = (relation.get("Type", "").rpartition("/")[2], path)
        return found

    def related(self, part: str, kind: str) -> list[str]:
        """The present parts that `part` refers to by the given kind of relation (`styles`, `footnotes`, …)."""
        targets = [target for type_, target in self.relations(part).values() if type_ == kind]
        return [target for target in dict.fromkeys(targets) if target in self]

    def main_part(self) -> str:
        """The name of the document's main part; `MalformedContent` if the container has none."""
        for part in [*self.related("", "officeDocument"), "word/document.xml"]:
            if part in self:
                return part
        raise _malformed("the container has no word/document.xml")


def _malformed(message: str) -> MalformedContent:
    return MalformedContent(message, next_step="open the file with Word, check it, and save it again")
