"""Source files: definitions and their ranges, and that every character is kept where it stands."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tychora_functions.parse import code
from tychora_functions.parse.units import Document, Unit
from tychora_schemas.errors import UnsupportedContent

DATA = Path(__file__).resolve().parents[1] / "data" / "code"
LANGUAGES = {".py": "python", ".js": "javascript", ".ts": "typescript", ".tsx": "tsx"}
FILES = sorted(path.name for path in DATA.iterdir() if path.suffix in LANGUAGES)
UNIT_LIMIT = 4000


@cache
def read(name: str) -> tuple[bytes, Document]:
    data = (DATA / name).read_bytes()
    return data, code.parse(data, name, LANGUAGES[Path(name).suffix])


def parse(text: str, language: str = "python") -> list[Unit]:
    return code.parse(text.encode(), "test", language).units


def symbols(text: str, language: str = "python") -> dict[str, str]:
    return {unit.attributes["name"]: unit.attributes["symbol_kind"] for unit in found(parse(text, language))}


def found(units: list[Unit]) -> Iterator[Unit]:
    return (unit for unit in units if unit.kind == "symbol")


def named(document: Document, name: str) -> list[Unit]:
    return [unit for unit in found(document.units) if unit.attributes["name"] == name]


def assert_tiles(document: Document, text: str) -> None:
    """Gaps and texts are the whole file but blanks at its end; every unit fits and is where it says."""
    joined = "".join(unit.gap + unit.text for unit in document.units)
    assert text.startswith(joined) and not text[len(joined) :].strip()
    for unit in document.units:
        assert unit.text and unit.text == unit.text.strip() and len(unit.text) <= UNIT_LIMIT + 100
        assert not unit.gap.strip()


@pytest.mark.parametrize("name", FILES)
def test_units_tile_the_file_and_read_again_to_themselves(name: str) -> None:
    data, document = read(name)
    assert (document.kind, document.language) == ("code", LANGUAGES[Path(name).suffix])
    assert_tiles(document, data.decode("utf-8-sig"))
    for unit in document.units:
        locator = unit.place(0, len(unit.text))
        assert locator.bytes is not None and locator.transform is None
        assert data[slice(*locator.bytes)].decode() == unit.text == code.read_at(data, locator)


@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
def test_any_part_of_a_unit_is_its_bytes(name: str, choice: random.Random) -> None:
    data, document = read(name)
    unit = choice.choice(document.units)
    start, end = sorted(choice.choices(range(len(unit.text) + 1), k=2))
    locator = unit.place(start, end)
    assert locator.bytes is not None and locator.lines is not None
    assert data[slice(*locator.bytes)].decode() == unit.text[start:end] == code.read_at(data, locator)
    assert locator.lines[0] == 1 + data[: locator.bytes[0]].count(b"\n")


def test_ranges_are_exact_with_byte_order_mark_line_ends_of_two_bytes_and_other_letters() -> None:
    _, document = read("pruef.py")
    expected = json.loads((DATA / "pruef.expected.json").read_text(encoding="utf-8"))["symbols"]
    assert [unit.attributes["name"] for unit in found(document.units)] == [one["name"] for one in expected]
    for unit, one in zip(found(document.units), expected, strict=True):
        locator = unit.place(0, len(unit.text))
        assert locator.lines == (one["first_line"], one["last_line"])
        assert locator.bytes == (one["byte_start"], one["byte_end"])


@pytest.mark.parametrize(("mark", "encoding"), [("\ufeff", "utf-16-le"), ("", "utf-16-be"), ("", "latin-1")])
def test_places_are_bytes_of_the_file_whatever_its_encoding(mark: str, encoding: str) -> None:
    text = "# -*- coding: latin-1 -*-\r\ndef größe():\r\n    return 'é'\r\n\r\nclass Ä:\r\n    def ü(self): ...\r\n"
    data = (mark + text).encode(encoding)
    document = code.parse(data, "x.py", "python")
    assert [unit.attributes["name"] for unit in found(document.units)] == ["größe", "Ä", "Ä.ü"]
    assert_tiles(document, text)
    for unit in document.units:
        locator = unit.place(0, len(unit.text))
        assert locator.bytes is not None
        assert data[slice(*locator.bytes)].decode(encoding) == unit.text == code.read_at(data, locator)


def test_methods_of_a_python_class_are_units_under_it() -> None:
    _, document = read("timed.py")
    first, second, unsign = named(document, "TimestampSigner.unsign")
    assert first.text.startswith("@t.overload") and second.text.startswith("@t.overload")
    assert unsign.heading_path == ("TimestampSigner",) and unsign.attributes["symbol_kind"] == "method"
    assert 'raise BadTimeSignature("timestamp missing", payload=result)' in unsign.text
    assert unsign.place(0, len(unsign.text)).lines == (72, 158)
    assert unsign.attributes["signature"].startswith("def unsign( self, signed_value: str | bytes,")
    assert unsign.attributes["docstring"].startswith("Works like the regular :meth:`.Signer.unsign`")
    (header,) = named(document, "TimestampSigner")
    assert header.attributes["signature"] == "class TimestampSigner(Signer)" and "def " not in header.text


PYTHON = '''#!/usr/bin/env python
"""What it is.

And more.
"""
import x

# Opens it.
# Twice.
@a(1)
@b
async def opened(door: int = 3, *, key) -> None:
    def inner(): pass
    return inner

class Outer(Base, metaclass=Meta):
    """Holds."""
    size: int = 1
    @property
    def m(self): return 1
    between = 2
    class Inner:
        async def n(self): yield 1
try:
    from q import r
except ImportError:
    def r(): pass
type Alias[T] = list[T]
def broken(:
'''


def test_definitions_of_python() -> None:
    assert symbols(PYTHON) == {
        "opened": "function",
        "Outer": "class",
        "Outer.m": "method",
        "Outer.Inner": "class",
        "Outer.Inner.n": "method",
        "r": "function",
        "Alias": "type",
        "broken": "function",
    }
    document = code.parse(PYTHON.encode(), "x.py", "python")
    assert_tiles(document, PYTHON)
    opened, outer = named(document, "opened")[0], named(document, "Outer")[0]
    assert opened.text.startswith("@a(1)\n@b\nasync def") and opened.text.endswith("return inner")
    assert opened.attributes["signature"] == "async def opened(door: int = 3, *, key) -> None"
    assert opened.attributes["docstring"] == "Opens it.\nTwice."
    assert (outer.attributes["docstring"], outer.text.splitlines()[-1]) == ("Holds.", "    size: int = 1")
    assert named(document, "Outer.Inner.n")[0].heading_path == ("Outer", "Inner")
    about = next(unit for unit in document.units if unit.text.startswith('"""What'))
    assert (about.kind, about.attributes) == ("code", {"docstring": "What it is.\n\nAnd more."})
    between = next(unit for unit in document.units if unit.text == "between = 2")
    assert (between.kind, between.heading_path) == ("code", ("Outer",))
    assert "def broken(" in document.units[-1].text


TYPESCRIPT = """
/** All shapes. */

export namespace Shapes { export interface Point { x: number } }
declare module "foo" { export function bar(x: string): number; }
@Component({selector: 'x'})
export default abstract class Base<T> extends Other implements I {
  static count = 0;
  @log() async *items(): AsyncGenerator<T> { yield 1; }
  handler = async (e: Event) => { return 1; };
  abstract area(): number;
  over(a: string): void;
  over(a: any) { }
}
export function f(a: string): string;
export function f(a: any) { return a; }
export enum Colour { Red = 1 }
export { f as g };
export let counter = 0;
export const limit: number = 3, arrow = 4;
export const twice = async <T,>(x: T): Promise<T> => { return x };
const local = 3;
const gen = function* named() { yield 1 };
export type Alias<T> = T[];
const api = { get(u: string) { return u }, post: async () => 1, version: '1' } as const;
"""


def test_definitions_of_typescript() -> None:
    assert symbols(TYPESCRIPT, "typescript") == {
        "Shapes": "namespace",
        "Shapes.Point": "interface",
        "foo": "namespace",
        "foo.bar": "function",
        "Base": "class",
        "Base.items": "method",
        "Base.handler": "method",
        "Base.area": "method",
        "Base.over": "method",
        "f": "function",
        "Colour": "enum",
        "counter": "variable",
        "limit, arrow": "constant",
        "twice": "function",
        "gen": "function",
        "Alias": "type",
        "api": "constant",
        "api.get": "method",
        "api.post": "method",
    }
    document = code.parse(TYPESCRIPT.encode(), "x.ts", "typescript")
    assert_tiles(document, TYPESCRIPT)
    names = "twice", "Base.items", "limit, arrow"
    signatures = {name: named(document, name)[0].attributes["signature"] for name in names}
    assert signatures == {
        "twice": "export const twice = async <T,>(x: T): Promise<T>",
        "Base.items": "async *items(): AsyncGenerator<T>",
        "limit, arrow": "export const limit: number",
    }
    assert named(document, "Shapes")[0].attributes["docstring"] == "All shapes."
    assert len(named(document, "f")) == len(named(document, "Base.over")) == 2
    assert named(document, "Base.area")[0].text == "abstract area(): number;"
    assert named(document, "Base.items")[0].text.startswith("@log()")


JAVASCRIPT = """'use strict'
module.exports = createThing
exports.helper = function (a, b) { return a }
Session.prototype.save = function save () { }
Session.prototype = { load: function () {} }
var A = module.exports = class Foo { bar() { } static async baz(x) { } }
Object.defineProperty(Session.prototype, 'isNew', { get: function () { return 1 } })
const App = () => <div onClick={() => 1}>hi</div>;
export default function () { return <App/> }
"""


def test_definitions_of_javascript() -> None:
    assert symbols(JAVASCRIPT, "jsx") == {
        "helper": "function",
        "Session.save": "method",
        "Session": "constant",
        "Session.load": "method",
        "A": "class",
        "A.bar": "method",
        "A.baz": "method",
        "Session.isNew": "method",
        "App": "function",
        "default": "function",
    }
    assert code.parse(JAVASCRIPT.encode(), "x.jsx", "jsx").language == "javascript"


def test_what_closes_a_class_stays_with_its_last_method() -> None:
    units = parse("class A {\n  m() { }\n}\nfoo()\n", "javascript")
    assert [unit.text for unit in units] == ["class A {", "m() { }\n}", "foo()"]


def test_comments_above_a_definition_are_a_unit_before_it() -> None:
    _, document = read("cookie_session.js")
    (create,) = named(document, "Session.create")
    before = document.units[document.units.index(create) - 1]
    assert before.text.startswith("/**") and before.kind == "code"
    assert create.attributes["docstring"] == "Create new session.\n@private"


def test_a_huge_function_is_divided_at_the_definitions_in_it_and_at_statements() -> None:
    lines = "".join(f"    x{number} = call({number})\n" for number in range(300))
    text = f"def huge():\n{lines}    def inner():\n        pass\n{lines}"
    units = parse(text)
    assert [unit.attributes["name"] for unit in found(units)] == ["huge", "huge.inner"]
    for unit in units[1:]:
        assert unit.heading_path == ("huge",) and unit.text.splitlines()[0] == unit.text.splitlines()[0].strip()
        assert len(unit.text) <= UNIT_LIMIT and (unit.text.endswith(")") or unit.kind == "symbol")


SMALL = "function a(b){var c=b+1;return c?[c,'ü'].map(function(e){return e*c}):null};"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (SMALL * 4000, "javascript"),
        ("!function(){" + SMALL * 3000 + "}();", "javascript"),
        ("x='" + "y" * 300_000 + "'", "javascript"),
        ("x=" + "(" * 10_000 + "1" + ")" * 10_000, "python"),
        ("x=" + "(\n" * 10_000 + "1" + ")\n" * 10_000, "typescript"),
        ("function f(){\n" * 4000 + "}\n" * 4000, "javascript"),
        ("class A{\nm(){return \n" * 2000 + "1\n" + "}\n}\n" * 2000, "javascript"),
        ("namespace A {\n" * 2000, "typescript"),
        ("var x=" + "+".join(["a\n"] * 30_000), "javascript"),
        ("f(" * 10_000, "tsx"),
        ("`${" * 10_000, "javascript"),
        ("@a\n" * 10_000 + "def f(): pass", "python"),
        ("a=\n" * 5_000 + "function(){}", "javascript"),
        ("export declare " * 5_000, "typescript"),
    ],
    ids=range(14),
)
def test_monstrous_files_come_in_units_of_bounded_length(text: str, language: str) -> None:
    document = code.parse(text.encode(), "x", language)
    assert_tiles(document, text)


FRAGMENTS = (
    *("def f(", "):\n", "    ", "class A", ":", "@d\n", "'''", "# c\n", "\r\n", "x = 1\n", "ü🧪", "/** d */\n"),
    *("function f() {", "}\n", "export ", "default ", "const a = ", "() => ", "{", ";", "enum E ", "abstract "),
    *("namespace N ", "interface I ", "`${", "<div>", "type T = ", "exports.a = ", "\ufeff", "\x0c", "\u2028", "\r"),
)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join), st.sampled_from(code.LANGUAGES))
def test_any_text_is_tiled_and_reads_again(text: str, language: str) -> None:
    data = b"\xef\xbb\xbf" + text.encode()
    document = code.parse(data, "x", language)
    assert_tiles(document, text)
    for unit in document.units:
        assert code.read_at(data, unit.place(0, len(unit.text))) == unit.text


def test_blank_files_have_no_units() -> None:
    assert parse("") == parse(" \n\t\n") == []


def test_a_language_without_grammar_is_refused() -> None:
    with pytest.raises(UnsupportedContent, match="cobol"):
        code.parse(b"x", "x", "cobol")


def test_the_questions_on_code_are_answered_at_their_lines(shared_folder: Path) -> None:
    lines = (shared_folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [question for line in lines if (question := json.loads(line)).get("source", "").startswith("code/")]
    for question in [question for question in asked if Path(question["source"]).suffix in LANGUAGES]:
        path = shared_folder / "corpus" / question["source"]
        document = code.parse(path.read_bytes(), path.name, LANGUAGES[path.suffix])
        places = [
            unit.place(start, start + len(question["quote"])).lines
            for unit in document.units
            if (start := unit.text.find(question["quote"])) >= 0
        ]
        assert tuple(question["expected"]["lines"]) in places, question["id"]


def test_all_files_of_the_real_projects_tile(shared_folder: Path) -> None:
    paths = [path for path in (shared_folder / "corpus" / "code").rglob("*") if path.suffix in LANGUAGES]
    assert len(paths) > 30
    for path in paths:
        data = path.read_bytes()
        document = code.parse(data, path.name, LANGUAGES[path.suffix])
        assert_tiles(document, data.decode())
        for unit in document.units:
            assert code.read_at(data, unit.place(0, len(unit.text))) == unit.text
