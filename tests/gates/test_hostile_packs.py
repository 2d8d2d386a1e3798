"""Gate H1: packed files made to do harm. Each is refused with a typed error before a byte is written."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tychora_format.packed.archive import Member, write_archive
from tychora_format.packed.pack import unpack
from tychora_format.sealed import seal
from tychora_format.store.packed import PackedStore
from tychora_format.workspace import Workspace
from tychora_schemas.errors import CorruptWorkspace, TychoraError

MARKER = seal(
    {
        "name": "tychora-workspace",
        "format": 1,
        "features": [],
        "workspace_id": f"workspace_{'0' * 32}",
        "profile": "documents",
        "settings": {},
    }
)


@dataclass
class Forged:
    """One member, as it should be stored; any field may be made to lie."""

    name: bytes
    data: bytes = b"data"
    flags: int = 0
    method: int = 0
    mode: int = 0o100644
    system: int = 3
    disk: int = 0
    crc: int | None = None
    size: int | None = None
    """In the central directory."""
    packed: int | None = None
    offset: int | None = None
    comment: bytes = b""
    narrow: bool = False
    """Sizes and place in the 32-bit fields, without the 64-bit ones."""
    local: dict[str, int] = field(default_factory=dict)
    """What the local header says instead."""
    local_name: bytes | None = None
    padding: bytes = b"\0"
    start: int | None = None


def marker(**lies: object) -> Forged:
    return replace(Forged(b"tychora.json", MARKER), **lies)  # type: ignore[arg-type]


def forge(
    members: Sequence[Forged],
    *,
    count: int | None = None,
    total: int | None = None,
    size: int | None = None,
    start: int | None = None,
    disks: int = 1,
    disk: int = 0,
    locator: int | None = None,
    narrow_count: int = 0xFFFF,
    comment: bytes = b"",
    before: bytes = b"",
    between: bytes = b"",
) -> bytes:
    """A packed file of `members` in the given order; each keyword is a lie about the whole."""
    out = bytearray(before)
    directory = bytearray()
    for each in members:
        header = len(out) if each.start is None else each.start
        name = each.local_name if each.local_name is not None else each.name
        least = header + 30 + len(name) + 20 + 6
        data_at = -(-least // 4096) * 4096
        crc = zlib.crc32(each.data) if each.crc is None else each.crc
        said = {"flags": each.flags, "method": each.method, "crc": crc, "size": len(each.data), "signature": 0x04034B50}
        said |= each.local
        extra = data_at - header - 30 - len(name)
        local = struct.pack("<IHHHHHIIIHH", said["signature"], 45, said["flags"], said["method"], 0, 33, said["crc"],
                            0xFFFFFFFF, 0xFFFFFFFF, len(name), extra)  # fmt: skip
        local += name + struct.pack("<HHQQ", 1, 16, said["size"], said["size"])
        fill = extra - 26
        local += struct.pack("<HHH", 0xD935, fill + 2, 4096) + (each.padding * fill)[:fill]
        whole = local + each.data
        out[header : header + len(whole)] = whole
        size_said = len(each.data) if each.size is None else each.size
        packed = size_said if each.packed is None else each.packed
        offset = header if each.offset is None else each.offset
        wide = struct.pack("<HHQQQ", 1, 24, size_said, packed, offset)
        fixed = (packed, size_said) if each.narrow else (0xFFFFFFFF, 0xFFFFFFFF)
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, each.system << 8 | 45, 45, each.flags, each.method,
                                 0, 33, crc, *fixed, len(each.name), 0 if each.narrow else 28, len(each.comment),
                                 each.disk, 0, each.mode << 16, offset if each.narrow else 0xFFFFFFFF)  # fmt: skip
        directory += each.name + (b"" if each.narrow else wide) + each.comment
    out += between
    real = len(out)
    out += directory
    count = len(members) if count is None else count
    size = len(directory) if size is None else size
    end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 3 << 8 | 45, 45, disk, disk, count,
                      count if total is None else total, size, real if start is None else start)  # fmt: skip
    end += struct.pack("<IIQI", 0x07064B50, 0, len(out) if locator is None else locator, disks)
    end += struct.pack("<IHHHHIIH", 0x06054B50, disk, disk, narrow_count, narrow_count, 0xFFFFFFFF, 0xFFFFFFFF,
                       len(comment))  # fmt: skip
    return bytes(out + end + comment)


def named(name: str | bytes) -> Callable[[], bytes]:
    """A packed file with a member of this name, which sorts where it should."""
    encoded = name if isinstance(name, bytes) else name.encode("utf-8", "surrogatepass")
    return lambda: forge(sorted([Forged(encoded), marker()], key=lambda member: member.name))


def pair(*names: str) -> Callable[[], bytes]:
    members = [marker(), *(Forged(name.encode()) for name in names)]
    return lambda: forge(sorted(members, key=lambda member: member.name))


def lying(**lies: object) -> Callable[[], bytes]:
    """A packed file whose first member lies."""
    return lambda: forge([replace(Forged(b"objects/aa/x"), **lies), marker()])  # type: ignore[arg-type]


def whole(**lies: object) -> Callable[[], bytes]:
    return lambda: forge([Forged(b"objects/aa/x"), marker()], **lies)  # type: ignore[arg-type]


def good() -> bytes:
    return forge([Forged(b"objects/aa/x"), marker()])


NAMES = [
    "..", "../outside", "objects/../../outside", "objects/..", "./objects/x", "objects/./x", "objects//x",
    "/etc/passwd", "//server/share", "C:/windows/x",
    "C:x", "objects\\..\\x", "\\\\server\\share", "objects/nul\0byte", "objects/a\nb",
    "objects/a\x1b[2J", "objects/\x7f", "objects/con", "objects/NUL.txt", "objects/com1", "objects/lpt9.json",
    "objects/Aux.parquet", "objects/dot.", "objects/blank ", "objects/ blank", "objects/a b", "objects/.hidden",
    "objects/-rf", "objects/" + "n" * 256, "objects/" + "deep/" * 101 + "x", "objects/caf\u00e9", "objects/cafe\u0301",
    "objects/\u202egnp.exe", "objects/star*", "objects/stream:x", "objects/quote\"", "objects/", "objects/folder/",
    "staging/x", "Staging/x", "leases/x", "jobs/x.json", "keys/secret", "KEYS/secret", "log/x", "log/main/1.json",
    "log/main/00000000000000000001.JSON", "log/main/000000000000000000001.json", "log/other/00000000000000000001.json",
    "log/main/00000000000000000001.json/x", "log/collected/a/b.json", "LOG/main/00000000000000000001.json",
    "Tags/x.json", "", "~/x", "$HOME/x",
]  # fmt: skip

CASES: dict[str, Callable[[], bytes]] = {
    **{f"name {name[:40]!a}": named(name) for name in NAMES},
    "a name that is no text": named(b"objects/\xff\xfe"),
    "a name of 65,000 bytes": named("objects/" + "n" * 65_000),
    "one name twice": pair("objects/aa/x", "objects/aa/x"),
    "the marker twice": lambda: forge([marker(), marker()]),
    "two names that differ in case": pair("objects/aa/X", "objects/aa/x"),
    "two folders that differ in case": pair("objects/AA/x", "objects/aa/y"),
    "folders of unknown names that differ in case": pair("other/x", "Other/y"),
    "a file that is a folder too": pair("objects/aa", "objects/aa/x"),
    "a file that is a folder in other case": pair("objects/AA", "objects/aa/x"),
    "the marker as a folder": pair("tychora.json/x"),
    "members out of order": lambda: forge([marker(), Forged(b"objects/aa/x")]),
    "a symbolic link": lying(mode=0o120777, data=b"/etc/passwd"),
    "a folder": lying(mode=0o040755),
    "a device": lying(mode=0o020666),
    "a fifo": lying(mode=0o010644),
    "a program with the rights of its owner": lying(mode=0o104755),
    "attributes of another system": lying(system=0),
    "compressed": lying(method=8, data=zlib.compress(b"0" * 999)[2:-4], local={"size": 999}),
    "encrypted": lying(flags=1),
    "strongly encrypted": lying(flags=0x41),
    "sizes after the data": lying(flags=8),
    "name in another encoding": lying(flags=0x800),
    "method differs in the local header": lying(local={"method": 8}),
    "flags differ in the local header": lying(local={"flags": 1}),
    "size differs in the local header": lying(local={"size": 3}),
    "checksum differs in the local header": lying(local={"crc": 1}),
    "no local header": lying(local={"signature": 0}),
    "another name in the local header": lying(local_name=b"objects/aa/y"),
    "an escape in the local header": lying(local_name=b"../../../../x"),
    "hidden bytes in the padding": lying(padding=b"x"),
    "one byte more than there is": lying(size=5),
    "one byte less than there is": lying(size=3),
    "a size past the end": lying(size=10_000_000),
    "a size of 2^64 - 1": lying(size=2**64 - 1),
    "a size of 2^63": lying(size=2**63),
    "packed and plain size differ": lying(packed=3),
    "sizes in the narrow fields": lying(narrow=True),
    "a place of 1": lying(offset=1),
    "a place past the end": lying(offset=1 << 40),
    "a place of 2^64 - 1": lying(offset=2**64 - 1),
    "on another disk": lying(disk=1),
    "a comment of a member": lying(comment=b"hello"),
    "members that overlap": lambda: forge([Forged(b"objects/aa/x", b"0" * 9000), marker(start=4096)]),
    "two members at one place": lambda: forge([marker(), Forged(b"zzz", MARKER, offset=0)]),
    "something before": whole(before=b"#!/bin/sh\nexec true\n"),
    "something between members and directory": whole(between=b"hidden"),
    "something appended": lambda: good() + b"\0",
    "a comment": whole(comment=b"PK\5\6"),
    "another ZIP appended": lambda: good() + good(),
    "several disks": whole(disks=2),
    "not the first disk": whole(disk=1),
    "more members than listed": whole(count=3),
    "fewer members than listed": whole(count=1),
    "members on this disk and in all differ": whole(total=99),
    "2^64 - 1 members": whole(count=2**64 - 1),
    "2^32 members": whole(count=2**32),
    "counted in the narrow field": whole(narrow_count=2),
    "a directory past the end": whole(size=1 << 40),
    "a directory of 2^64 - 1 bytes": whole(size=2**64 - 1),
    "a directory of no bytes": whole(size=0),
    "a directory that starts elsewhere": whole(start=0),
    "a directory that starts past the end": whole(start=1 << 50),
    "a locator that leads elsewhere": whole(locator=0),
    "cut by one byte": lambda: good()[:-1],
    "cut in the middle": lambda: good()[: len(good()) // 2],
    "cut to its end": lambda: good()[-98:],
    "empty": lambda: b"",
    "one byte": lambda: b"P",
    "no ZIP": lambda: b"%PDF-1.7\n" + bytes(5000),
    "zeros": lambda: bytes(10_000),
    "a ZIP without members": lambda: forge([]),
    "a ZIP without tychora.json": lambda: forge([Forged(b"objects/aa/x")]),
    "tychora.json in capitals": lambda: forge([Forged(b"TYCHORA.JSON", MARKER)]),
    "a plain empty ZIP": lambda: b"PK\5\6" + bytes(18),
}  # fmt: skip


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_what_is_forged_without_a_lie_is_what_is_written(tmp_path: Path) -> None:
    """The cases below are refused for their lie: without one, the forger and the writer make the same bytes."""
    written = tmp_path / "written.tychora"
    write_archive(written, [Member("tychora.json", len(MARKER), MARKER), Member("objects/aa/x", 4, b"data")])
    assert written.read_bytes() == good()
    assert [entry.path for entry in PackedStore(written).list()] == ["objects/aa/x", "tychora.json"]


def test_h1_there_are_enough_cases() -> None:
    assert len(CASES) >= 60 + len(NAMES)


@pytest.mark.parametrize("case", CASES)
def test_h1_hostile_packed_files(tmp_path: Path, case: str) -> None:
    """H1: refused when opened, and when unpacked before anything is written."""
    file = tmp_path / "hostile.tychora"
    file.write_bytes(CASES[case]())
    with pytest.raises(CorruptWorkspace) as caught:
        PackedStore(file)
    assert str(file) in caught.value.message and caught.value.next_step
    with pytest.raises(CorruptWorkspace):
        unpack(file, tmp_path / "folder" / "target")
    assert listing(tmp_path) == ["hostile.tychora"]


def test_h1_lies_inside_members_are_found_before_the_directory_appears(tmp_path: Path) -> None:
    """H1: bytes that their name, or their seal, denies: nothing is left of what was begun."""
    right = "objects/88/8810ad581e59f2bc3928b261707a71308f7e139eb04820366dc4d5c18d980225"
    for members in (
        [marker(), replace(Forged(right.encode()), data=b"other")],
        [marker(), Forged(b"log/main/00000000000000000001.json", seal({"number": 1})[:-2] + b" }")],
        [marker(), Forged(b"tags/x.json", b"{}")],
        [Forged(b"tychora.json", b"{}")],
    ):
        file = tmp_path / "lying.tychora"
        file.write_bytes(forge(sorted(members, key=lambda member: member.name)))
        with pytest.raises(CorruptWorkspace):
            unpack(file, tmp_path / "target")
        assert listing(tmp_path) == ["lying.tychora"]


def test_unknown_plain_names_are_ignored(tmp_path: Path) -> None:
    """A later version may add files: they are neither listed nor unpacked."""
    file = tmp_path / "later.tychora"
    file.write_bytes(forge([Forged(b"annotations/x.json"), marker(), Forged(b"zzz")]))
    store = PackedStore(file)
    assert [entry.path for entry in store.list()] == ["tychora.json"]
    assert store.size("zzz") is None
    unpack(file, tmp_path / "target")
    assert listing(tmp_path / "target") == ["tychora.json"]
    assert Workspace.open(tmp_path / "target").marker.workspace_id == f"workspace_{'0' * 32}"


def test_every_single_bit_of_the_frame_is_checked(tmp_path: Path, seed: int) -> None:
    """A flipped bit anywhere but in the members' data is refused at once."""
    data = good()
    covered = [*range(4096), *range(4100, 8192), *range(8192 + len(MARKER), len(data))]
    chance = random.Random(seed)
    file = tmp_path / "flipped.tychora"
    for position in [*chance.sample(covered, 150), *range(8192 + len(MARKER), len(data), 3)]:
        flipped = bytearray(data)
        flipped[position] ^= 1 << chance.randrange(8)
        file.write_bytes(flipped)
        with pytest.raises(CorruptWorkspace):
            PackedStore(file)


@given(st.data())
@hypothesis_settings(max_examples=60)
def test_any_cut_or_splice_is_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever is removed, repeated or put in: a typed error, never anything else, and no opening by chance."""
    whole = good()
    first, last = sorted(data.draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
    spliced = whole[:first] + data.draw(st.binary(max_size=40)) + whole[last:]
    frame = [spliced[:4096], spliced[4100:8192], spliced[8192 + len(MARKER) :]]
    same_frame = len(spliced) == len(whole) and frame == [whole[:4096], whole[4100:8192], whole[8192 + len(MARKER) :]]
    file = tmp_path_factory.getbasetemp() / "spliced.tychora"
    file.write_bytes(spliced)
    try:
        PackedStore(file)
        opened = True
    except TychoraError:
        opened = False
    assert opened == same_frame
