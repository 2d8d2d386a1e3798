"""Index terms: what a text is found by."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tychora_format.analysis import LONGEST_TERM, content_terms, terms, unify

ANY_TEXT = st.text(max_size=200) | st.text(alphabet="aZé京のก한9_.,-:'\u00ad\ufffe\n\u0301 C+#", max_size=60)


def surfaces(question: str) -> list[str]:
    return [term.surface for term in content_terms(question)]


def found_by(text: str, question: str) -> bool:
    """Whether the text holds every index term of the question's content words."""
    held = set(terms(text))
    return all(held.issuperset(term.terms) for term in content_terms(question))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHTTPResponse", ["parsehttprespon", "par", "http", "respon"]),
        ("getURL2", ["geturl2", "get", "url"]),
        ("snake_case_name", ["snake_case_name", "snak", "cas", "nam"]),
        ("foo.bar", ["foo.bar", "foo", "bar"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("APIs", ["api"]),
        ("C++ C# .NET C", ["c++", "c#", ".net", "net", "c"]),
        ("IL-6 well-known", ["il6", "il", "wellknown", "well", "known"]),
        ("5,200 5200", ["5200", "5", "200", "5200"]),
        ("1,234.56 1.234,56", ["1234.56", "1", "234.56", "234", "56", "1234.56", "1.234", "234", "56"]),
        ("3,14 1,2,30", ["3,14", "3", "14", "1", "2", "30"]),
        ("U.S.C. e.g.", ["usc", "eg"]),
        ("Alzheimer's l'avion", ["alzheim", "avion"]),
        ("", []),
        ("\x00 \ud800 ((( >>>", []),
    ],
)
def test_words_are_indexed_whole_and_in_parts(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("größe", "gro\u0308ße"),
        ("größe", "GRÖSSE"),
        ("Café", "cafe"),
        ("eﬃcient", "efficient"),
        ("ﬁle", "file"),
        ("för\u00ad\ndert", "fördert"),
        ("Immobilien\ufffefonds", "Immobilienfonds"),
        ("FAA–2020–0686", "FAA-2020-0686"),
        ("FAA‐2020‐0686", "FAA-2020-0686"),
        ("don’t", "don't"),
        ("٤٢", "42"),
    ],
)
def test_what_looks_alike_has_equal_terms(one: str, other: str) -> None:
    assert set(terms(other)) <= set(terms(one))


@pytest.mark.parametrize("end", ["-\n", "-\r\n  ", "\ufffe", "\ufffe\n", "\x02"])
def test_a_word_divided_at_a_line_end_is_found_joined_and_with_its_hyphen(end: str) -> None:
    assert found_by(f"der Immobilien{end}fonds", "Immobilienfonds")
    assert found_by(f"a well{end}known port", "well-known")
    assert found_by(f"a well{end}known port", "known")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("connections were tested", "connection test"),
        ("die Personen", "Person"),
        ("den Datenschutzbeauftragten", "Datenschutzbeauftragter"),
        ("in den Häusern der Städte", "Haus Stadt"),
        ("nach den Pflichten des Gesetzes", "Welche Pflicht hat das Gesetz?"),
        ("языков программирования", "язык программирование"),
        ("لغات البرمجة", "البرمجة"),
    ],
)
def test_inflected_words_are_found(text: str, question: str) -> None:
    assert found_by(text, question)


def test_a_word_inside_a_clause_without_blanks_is_found() -> None:
    assert {"借书", "书证", "借", "证"} <= set(terms("本图书馆自五月起延长夜间开放时间，读者须出示借书证。"))
    assert found_by("กรุงเทพมหานครเป็นเมืองหลวง", "เมือง")


def test_a_short_run_is_also_indexed_whole_so_that_kyoto_is_not_tokyo() -> None:
    assert "[京都]" in terms("京都の庭園")
    assert "[京都]" not in terms("東京都の図書館")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the scope of part 1308?", ["scope", "part", "1308"]),
        ("Wie lautet die Bemerkung 21?", ["Bemerkung", "21"]),
        ("反垄断法第五十六条规定什么？", ["反垄断法第五十六条规定"]),
        ("夜間開館はいつですか", ["夜間開館"]),
        ("the of", ["the", "of"]),
        ("什么", ["什么"]),
        ("write AND Write", ["write"]),
        ("(((", []),
    ],
)
def test_a_question_asks_for_its_content_words_only_unless_it_has_none(question: str, expected: list[str]) -> None:
    assert surfaces(question) == expected


@pytest.mark.parametrize(
    ("text", "question", "found"),
    [
        ("7,299,299,x", "299", True),
        ("7,299,299,x", "7,299,299", True),
        ("7299299", "7,299,299", True),
        ("5 of 200", "5,200", False),
        ("3 of 14", "3,14", False),
    ],
)
def test_a_number_with_commas_is_asked_for_as_a_whole_and_can_be_cells_of_a_row(
    text: str, question: str, found: bool
) -> None:
    assert found_by(text, question) == found


def test_a_long_term_is_shortened_and_still_finds_itself_and_only_itself() -> None:
    one, other = "a" * 5000, "a" * 5001
    assert terms(one) == terms(one.upper()) != terms(other)
    assert all(len(term) <= LONGEST_TERM for term in terms(one))


@given(ANY_TEXT)
def test_terms_are_short_without_blanks_and_encodable(text: str) -> None:
    for term in terms(text):
        assert term and len(term) <= LONGEST_TERM and term.split() == [term]
        term.encode()


@given(ANY_TEXT)
def test_canonically_equal_texts_have_equal_terms(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert terms(composed) == terms(decomposed) == terms(text)


@given(ANY_TEXT, ANY_TEXT)
def test_texts_set_side_by_side_keep_their_terms(one: str, other: str) -> None:
    assert terms(f"{one} | {other}") == terms(one) + terms(other)


@given(ANY_TEXT)
def test_a_question_asks_for_nothing_that_its_text_does_not_hold(question: str) -> None:
    held = set(terms(question)) | set(terms(" ".join(surfaces(question))))
    for term in content_terms(question):
        assert term.terms and held.issuperset(term.terms)


@given(ANY_TEXT)
@example("0A\u00ad\u0300")
def test_unify_is_done_once(text: str) -> None:
    assert terms(unify(text)) == terms(text)
