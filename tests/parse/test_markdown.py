"""Markdown: blocks as units of literal source text under their headings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_checks import CASES, CORPUS, reads_back, tiles

from tychora_functions.parse import markdown
from tychora_functions.parse.units import Document

BLOCKS = [
    "# Title *of* it",
    "Setext\n===",
    "a paragraph\nof two lines",
    "- item\n  - nested\n- größe 😀",
    "1. one\n\n   more of it\n2. two",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "```python\nx = 1\n\ny = 2\n```",
    "    indented code",
    "> quoted\n> # no heading",
    "[link]: https://example.org 'defined'",
    "<!-- a comment -->",
    "---",
    "cafe\u0301\u3000全角",
    "",
]


def parse(text: str) -> Document:
    data = text.encode()
    document = markdown.parse(data, "a.md")
    tiles(data, document)
    reads_back(data, document, markdown.read_at)
    return document


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(BLOCKS), max_size=12), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_units_tile_the_file_and_read_back(blocks: list[str], line_end: str, mark: bool) -> None:
    data = "\n\n".join(blocks).replace("\n", line_end).encode("utf-8-sig" if mark else "utf-8")
    document = markdown.parse(data, "a.md")
    tiles(data, document)
    reads_back(data, document, markdown.read_at)


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="#-*+>|`~=:[]()<!1.\n\r\t \\a中\u0301", max_size=120))
def test_any_punctuation_tiles(text: str) -> None:
    data = text.encode()
    tiles(data, markdown.parse(data, "a.md"))


def test_headings_hold_their_sections_without_marks() -> None:
    document = parse("# One `code` ##\n\nText.\n\nTwo\n---\n\n### Three [link](x)\n\nDeep.\n\n# Four\n")
    assert [(unit.kind, unit.level, unit.heading_path) for unit in document.units] == [
        ("heading", 1, ()),
        ("paragraph", 0, ("One code",)),
        ("heading", 2, ("One code",)),
        ("heading", 3, ("One code", "Two")),
        ("paragraph", 0, ("One code", "Two", "Three link")),
        ("heading", 1, ()),
    ]
    assert document.title == "One code"


def test_front_matter_is_a_unit_and_gives_the_title() -> None:
    document = parse("---\nTitle: Bundesdatenschutzgesetz\nslug: bdsg\n---\n\n# Heading\n")
    assert document.title == "Bundesdatenschutzgesetz"
    assert document.units[0].attributes == {"role": "front_matter"}
    assert document.units[1].kind == "heading"


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    document = parse("---\n\nText.\n\n---\n\n# Heading\n")
    assert [unit.kind for unit in document.units] == ["paragraph", "paragraph", "paragraph", "heading"]


def test_an_item_with_what_is_nested_in_it_is_one_unit_and_a_long_one_several() -> None:
    document = parse("- a\n  - b\n  - c\n- d\n- " + "long words " * 400 + "\n")
    kinds = {unit.kind for unit in document.units}
    assert kinds == {"list_item"}
    assert document.units[0].text == "- a\n  - b\n  - c"
    assert len(document.units) > 3
    assert all(len(unit.text) <= 2000 for unit in document.units)


def test_a_small_table_is_one_unit_and_a_large_one_rows_that_know_their_header() -> None:
    small = "| name | age |\n|---|---|\n| Ann | 7 |\n"
    assert [(unit.kind, unit.attributes) for unit in parse(small).units] == [("table", {"header": "| name | age |"})]
    large = parse(small + "| Bob | 8 |\n" * 30).units
    assert (large[0].kind, large[0].text) == ("table_row", "| name | age |\n|---|---|")
    assert large[0].attributes["role"] == "header"
    assert (large[1].text, large[1].attributes) == ("| Ann | 7 |", {"header": "| name | age |"})
    assert len(large) == 32


def test_what_the_renderer_hides_is_kept() -> None:
    document = parse("Text [a].\n\n[a]: https://example.org\n\n<!-- note -->\n")
    assert [unit.text for unit in document.units] == ["Text [a].", "[a]: https://example.org", "<!-- note -->"]
    assert document.units[2].attributes == {"role": "comment"}


def test_code_keeps_its_fence_language_and_indentation() -> None:
    document = parse("```python\nx = 1\n```\n\n    y = 2\n")
    assert [(unit.kind, unit.text) for unit in document.units] == [
        ("code", "```python\nx = 1\n```"),
        ("code", "    y = 2"),
    ]
    assert document.units[0].attributes == {"language": "python"}


def test_chinese_sections_are_cited_on_character_borders() -> None:
    data = (CASES / "11-cjk-search" / "zh.md").read_bytes()
    document = markdown.parse(data, "zh.md")
    tiles(data, document)
    reads_back(data, document, markdown.read_at, parts=20)
    unit = next(unit for unit in document.units if "覆盖率" in unit.text)
    assert unit.heading_path == ("通知", "乙")
    at = unit.text.index("覆盖率")
    start, end = unit.place(at, at + 3).bytes or (0, 0)
    assert data[start:end].decode() == "覆盖率"


@pytest.mark.parametrize("case", ["09-query-syntax/notes.md", "10-identifiers-with-punctuation/ids.md"])
def test_each_section_of_the_cases_stands_under_its_heading(case: str) -> None:
    data = (CASES / case).read_bytes()
    document = markdown.parse(data, case)
    tiles(data, document)
    assert all(len(unit.heading_path) == 2 for unit in document.units if unit.kind == "paragraph")


def test_every_corpus_file_tiles_and_reads_back() -> None:
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not here")
    for file in sorted(CORPUS.rglob("*.md")):
        data = file.read_bytes()
        document = markdown.parse(data, file.name)
        tiles(data, document)
        reads_back(data, document, markdown.read_at, parts=1)
        assert any(unit.kind == "heading" for unit in document.units)
