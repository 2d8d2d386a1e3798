"""Identifiers: an exact name matches itself and what it is a part of, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tychora_format.identifiers import LONGEST_IDENTIFIER, MOST_IDENTIFIERS, identifiers, named, symbol_forms

DATA = Path(__file__).resolve().parents[1] / "data" / "ident"
QUERIES = json.loads((DATA / "register.json").read_text("utf-8"))


def register() -> dict[str, set[str]]:
    sections = re.split(r"^## ", (DATA / "register.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    return {section[0]: set(identifiers(section)) for section in sections}


def matches(text: str, question: str) -> bool:
    held = set(identifiers(text))
    return any(identifier.form in held for identifier in named(question))


@pytest.mark.parametrize("case", QUERIES, ids=lambda case: case["query"])
def test_of_near_duplicates_only_the_section_that_was_named_matches(case: dict[str, str | None]) -> None:
    asked = named(str(case["query"]))
    assert len(asked) == 1 and asked[0].recognised
    matching = [section for section, held in register().items() if asked[0].form in held]
    assert matching == ([case["only_section"]] if case["only_section"] else [])


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("21 CFR § 1308.11(f)(2)", "§ 1308.11(f)"),
        ("21 CFR § 1308.11(f)(2)", "§ 1308.11"),
        ("see § 1308.11 (f) (2).", "1308.11(f)(2)"),
        ("§ 1308.11(f)(2) Stimulants", "1308.11"),
        ("§ 1308.11 Schedule I", "21 CFR 1308.11"),
        ("PART 1308—SCHEDULES", "21 CFR part 1308"),
        ("Section 12 of the Act", "§12"),
        ("§ 38 Abs. 1 Satz 1 BDSG", "§ 38 BDSG"),
        ("Article 5(1)(a) GDPR", "Art. 5(1)"),
        ("see paragraph (p)(4)(ii) of this AD", "paragraph (p)(4)"),
        ("第五十六条　经营者", "第五十六条规定什么？"),
        ("file Form\n8865 and see Section\n12 (3)", "Form 8865"),
        ("file Form\n8865 and see Section\n12 (3)", "§ 12(3)"),
        ("under Public\u00a0Law 117-58", "Public Law 117-58"),
        ("RFC2617", "RFC 2617"),
        ("Docket No. FAA–2020–0686;", "FAA-2020-0686"),
        ("DARPA‐BAA‐15‐58", "DARPA-BAA-15-58"),
        ("FAA-2020-\n0686", "FAA-2020-0686"),
        ("build 1.1.0", "v1.1.0"),
        ("in src/signing/Signer.py", "signer.py"),
        ("call load_all() first", "load_all"),
        ("ghsa-rxwq-x6h5-x525", "GHSA-rxwq-x6h5-x525"),
        ("(cES1003) Upon receipt", "CES1003"),
        ("import from '@noble/hashes'", "@noble/hashes"),
        ("größe_prüfen", "gro\u0308ße_pru\u0308fen"),
    ],
)
def test_a_text_that_holds_the_identifier_or_a_part_of_it_matches(text: str, question: str) -> None:
    assert matches(text, question)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("§ 1308.11(f)", "§ 1308.11(f)(2)"),
        ("§ 1308.1", "§ 1308.11"),
        ("§ 12(3)", "§ 12(4)"),
        ("Article 3", "§ 3"),
        ("CVE-2024-30940", "CVE-2024-3094"),
        ("v1.10.0", "v1.1.0"),
        ("v1.1.0.5", "v1.1.0"),
        ("written in C", "C++"),
        ("Net and F", ".NET"),
        ("foo::bar", "foo_bar"),
        ("foo.bar", "foo::bar"),
        ("foo_bar_baz", "foo_bar"),
        ("Form 88650", "Form 8865"),
        ("FAA-2020-06861", "FAA-2020-0686"),
        ("第五十条", "第五十六条"),
    ],
)
def test_a_neighbour_or_the_whole_does_not_match_its_part(text: str, question: str) -> None:
    assert named(question)
    assert not matches(text, question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which penalty is stated for late filing of Form 8865?", ["form8865"]),
        ("Which exception does TimestampSigner.unsign raise?", ["timestampsigner.unsign"]),
        ("Which data type has CLIENT_IPADDR?", ["client_ipaddr"]),
        ("Which major has rank 1 in recent-grads.csv?", ["recent-grads.csv"]),
        ("What did document DHAW20190031 cost?", ["dhaw20190031"]),
        ("How many people have diabetes type 2, e.g. in the U.S.?", []),
        ("A deficiency of vitamin B12 raises homocysteine by 2.5 %.", []),
        ("IL-6 and COVID-19 in 24-hour urine", []),
        ("mTOR, siRNA, DNAs and iPhone", []),
    ],
)
def test_only_forms_that_leave_no_doubt_are_recognised(question: str, expected: list[str]) -> None:
    assert [identifier.form for identifier in named(question) if identifier.recognised] == expected


def test_a_quotation_is_a_phrase_in_small_letters_with_single_blanks() -> None:
    [phrase] = named("Where does it say “Maximum  Number of workers”?")
    assert (phrase.kind, phrase.form, phrase.recognised) == ("phrase", "maximum number of workers", False)


def test_a_definition_is_found_by_every_ending_of_its_qualified_name() -> None:
    assert symbol_forms("TimestampSigner.unsign") == ["timestampsigner.unsign", "unsign"]
    assert symbol_forms("a::B::c") == ["a::b::c", "b::c", "c"]
    assert symbol_forms("plain") == ["plain"]


@given(st.text(max_size=300) | st.text(alphabet="§(1a)._-C+#/:@京第条 \n\"'", max_size=80))
def test_any_text_has_distinct_bounded_forms_and_a_question_names_what_its_own_text_holds(text: str) -> None:
    held = identifiers(text)
    assert len(held) == len(set(held)) <= MOST_IDENTIFIERS
    assert all(0 < len(form) <= LONGEST_IDENTIFIER and form == form.casefold() for form in held)
    sure = {one.form for one in named(text) if one.recognised and len(one.form) <= LONGEST_IDENTIFIER}
    assert sure <= set(held)


@pytest.mark.parametrize("piece", ["(a)", "a/", "a-", "1.", "--", "@", "§", "a.b::", '"', "第"])
def test_a_long_chain_of_anything_is_read_and_bounded(piece: str) -> None:
    assert len(identifiers(piece * 5000)) <= MOST_IDENTIFIERS
    named(piece * 5000)
