"""HTML: what a browser shows, each piece with its path and, where it is literal, its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_checks import CORPUS, reads_back

from tychora_functions.parse import html
from tychora_functions.parse.units import Document, Unit
from tychora_schemas.errors import NotFound


def parse(text: str, encoding: str = "utf-8") -> Document:
    data = text.encode(encoding)
    document = html.parse(data, "a.html")
    reads_back(data, document, html.read_at)
    paths = [unit.place(0, len(unit.text)).path for unit in document.units]
    assert len(set(paths)) == len(paths)
    return document


def shown(document: Document) -> list[tuple[str, str]]:
    return [(unit.kind, unit.text) for unit in document.units]


def path(unit: Unit) -> str | None:
    return unit.place(0, len(unit.text)).path


TAGS = ["div", "p", "b", "li", "ul", "h2", "table", "tr", "td", "th", "pre", "title", "nav", "dl", "dd", "caption"]
PIECES = st.one_of(
    st.sampled_from(
        ["größe", "a  b\r\n c", "&amp;", "&nbsp;", "&#x4e2d;", "&bogus", "R&D", "<br>", "😀", "<", "</", "<!--x-->"]
    ),
    st.sampled_from(TAGS).map(lambda tag: f"<{tag}>"),
    st.sampled_from(TAGS).map(lambda tag: f"</{tag}>"),
    st.just('<td colspan="2" rowspan=2>'),
    st.just('<img alt="an &quot;image&quot;">'),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_mixture_of_tags_reads_back(text: str) -> None:
    parse(text)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["größe", "two words", "café & co", "第一条"]), min_size=1, max_size=8))
def test_no_visible_word_is_lost(words: list[str]) -> None:
    text = "<ul><li>".join(words) + "<table><tr><td>" + "<td>".join(words) + "</table>" + "<h2>".join(words)
    joined = " ".join(unit.text for unit in parse(text).units)
    for word in set(words):
        assert joined.count(word) == 3 * words.count(word)


def test_literal_text_has_bytes_and_decoded_text_its_transform() -> None:
    text = "<p>Plain größe</p>\n<p>a &amp; b</p>\n<p>two\n  lines</p>"
    plain, entity, folded = parse(text).units
    start = len("<p>")
    assert plain.place(0, 11).bytes == (start, start + len("Plain größe".encode()))
    assert plain.place(0, 11).transform is None
    assert (entity.text, entity.place(0, 5).transform, entity.place(0, 5).bytes) == ("a & b", "html", None)
    assert entity.place(4, 5).bytes is not None
    assert (folded.text, folded.place(0, 9).lines) == ("two lines", (3, 4))
    assert folded.place(4, 9).lines == (4, 4)
    assert folded.place(4, 9).characters == (4, 9)


def test_what_a_browser_does_not_show_is_left_out() -> None:
    text = (
        "<html lang='de-DE'><head><title>The &amp; title</title><style>p{}</style><script>var x='<p>no</p>'</script>"
        "<meta name=a></head><body><!-- no --><template><p>no</p></template><noscript>no</noscript><p>yes</p></html>"
    )
    document = parse(text)
    assert shown(document) == [("paragraph", "yes")]
    assert (document.title, document.language) == ("The & title", "de")


def test_headings_hold_sections_and_navigation_is_marked() -> None:
    document = parse("<nav><h2>Menu</h2><a>Home</a></nav><h1>A <i>b</i></h1><p>x<h2>C</h2>y<footer>z</footer>")
    assert [(unit.text, unit.heading_path, unit.attributes.get("furniture")) for unit in document.units] == [
        ("Menu", (), "true"),
        ("Home", (), "true"),
        ("A b", (), None),
        ("x", ("A b",), None),
        ("C", ("A b",), None),
        ("y", ("A b", "C"), None),
        ("z", ("A b", "C"), "true"),
    ]
    assert document.title == "A b"


def test_paths_count_elements_and_runs_of_text() -> None:
    document = parse("<div>one<p>two</p>three</div><div><p>four<p>five</div>")
    assert [path(unit) for unit in document.units] == [
        "body/div[1]",
        "body/div[1]/p[1]",
        "body/div[1]/text()[2]",
        "body/div[2]/p[1]",
        "body/div[2]/p[2]",
    ]


def test_pre_keeps_its_blanks_and_br_is_a_line_end() -> None:
    document = parse("<pre>\n  a\n    b\n</pre><p>c <br> d</p>")
    assert shown(document) == [("code", "  a\n    b"), ("paragraph", "c\nd")]


def test_list_items_definitions_captions_and_alternative_texts() -> None:
    document = parse(
        "<ul><li>a<ul><li>b</ul><li>c</ul><dl><dt>T<dd>D</dl>"
        "<figure><img src=x alt='A duck'><figcaption>Fig. 1</figcaption></figure>"
    )
    assert shown(document) == [
        ("list_item", "a"),
        ("list_item", "b"),
        ("list_item", "c"),
        ("list_item", "T"),
        ("list_item", "D"),
        ("figure", "A duck"),
        ("figure", "Fig. 1"),
    ]
    assert document.units[4].attributes["term"] == "T"
    assert document.units[5].place(0, 6).bytes is not None


def test_table_rows_know_the_header_over_each_cell() -> None:
    document = parse(
        "<table><caption>Results</caption>"
        "<tr><th rowspan=2>Group<th colspan=2>Score<tr><th>Mean<th>Range"
        "<tr><td rowspan=2>Blind<td>3<td>1-5<tr><td>4<td>2-6<tr><td>All<td colspan=2>none</table>"
    )
    rows = [unit for unit in document.units if unit.kind == "table_row"]
    assert [unit.text for unit in rows] == [
        "Group | Score",
        "Mean | Range",
        "Blind | 3 | 1-5",
        "4 | 2-6",
        "All | none",
    ]
    assert [unit.attributes.get("header") for unit in rows] == [
        None,
        None,
        "Group | Score / Mean | Score / Range",
        "Score / Mean | Score / Range",
        "Group | Score / Mean, Score / Range",
    ]
    assert rows[3].attributes["spanned"] == "Group: Blind"
    assert {unit.attributes["caption"] for unit in rows} == {"Results"}
    assert rows[0].attributes["role"] == "header"


def test_a_table_that_only_serves_the_layout_gives_what_stands_in_it() -> None:
    document = parse("<table><tr><td><h1>A</h1><p>b</p><td><table><tr><td>c<td>d</table></table>")
    assert shown(document) == [("heading", "A"), ("paragraph", "b"), ("table_row", "c | d")]


@pytest.mark.parametrize(
    "text",
    [
        "<div>a" * 5_000,
        "<ul><li>" * 5_000 + "x",
        "<table><tr><td>a" * 1_000,
        "<!--" * 50_000,
        "<a" * 50_000,
        "</" * 50_000,
        "<p>x</p>" + "<b" * 50_000,
        "<td colspan=99999999 rowspan=0>a" * 100,
        "<script>" * 1_000,
        "<title>never closed<p>text",
    ],
)
def test_deep_and_broken_pages_are_read(text: str) -> None:
    html.parse(text.encode(), "a.html")


def test_an_unclosed_title_hides_nothing() -> None:
    assert shown(parse("<title>T<p>text")) == [("paragraph", "text")]


def test_an_inferred_encoding_is_reported_and_cited() -> None:
    document = parse("<pre>Die schöne Frau aß für 3 € Käse.</pre>", "cp1252")
    assert document.warnings
    assert document.units[0].place(0, 5).encoding == "cp1252"


def test_a_path_of_another_page_is_not_found() -> None:
    locator = parse("<p>a &lt; b").units[0].place(0, 5)
    with pytest.raises(NotFound):
        html.read_at(b"<div>x</div>", locator)


def test_corpus_pages_read_back() -> None:
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not here")
    for file in sorted((CORPUS / "html").glob("*.html")):
        data = file.read_bytes()
        document = html.parse(data, file.name)
        reads_back(data, document, html.read_at)
        assert len(document.units) > 3
