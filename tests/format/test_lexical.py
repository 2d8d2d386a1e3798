"""The lexical index: many immutable parts searched exactly as one, without the rows that are not alive."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tychora_format.analysis import content_terms
from tychora_format.identifiers import identifiers, named
from tychora_format.lexical import DESCRIPTION, MOST_FORMS, Hit, LexicalDocument, LexicalPart, View, build, open_view
from tychora_schemas.errors import CorruptWorkspace

DATA = Path(__file__).resolve().parents[1] / "data" / "ident"
WORDS = [f"word{letter}{other}" for letter in "abcdefghij" for other in "abcdefghijkl"]


def document(text: str, title: str = "", *heading_path: str) -> LexicalDocument:
    return LexicalDocument(text, title, heading_path, identifiers(text))


def random_documents(seed: int, number: int) -> list[LexicalDocument]:
    chance = random.Random(seed)
    weights = [1 / rank for rank in range(1, len(WORDS) + 1)]
    return [
        document(" ".join(chance.choices(WORDS, weights, k=chance.randint(3, 60))), chance.choice(WORDS))
        for _ in range(number)
    ]


def part(directory: Path, documents: Sequence[LexicalDocument], tag: int = 1) -> LexicalPart:
    build(directory, documents, tag)
    return LexicalPart(directory, tag, len(documents))


def search(view: View, question: str, limit: int = 10) -> list[Hit]:
    return view.search([(term, 1.0) for word in content_terms(question) for term in word.terms], limit)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LexicalPart]:
    directory = tmp_path_factory.mktemp("small")
    return directory, part(directory / "part", random_documents(7, 200), tag=3)


def test_the_same_documents_give_the_same_files_and_nothing_else(tmp_path: Path) -> None:
    documents = random_documents(1, 300)
    build(tmp_path / "one", documents, tag=5)
    build(tmp_path / "other", iter(documents), tag=5)
    assert files(tmp_path / "one") == files(tmp_path / "other")
    described = json.loads((tmp_path / "one" / DESCRIPTION).read_text("utf-8"))
    assert files(tmp_path / "one").keys() == {DESCRIPTION, *described["files"]}


def test_another_tag_or_document_gives_another_segment(tmp_path: Path) -> None:
    documents = random_documents(1, 20)
    for name, tag, some in (("a", 1, documents), ("b", 2, documents), ("c", 1, documents[:-1])):
        build(tmp_path / name, some, tag)
    described = [json.loads((tmp_path / name / DESCRIPTION).read_text("utf-8")) for name in "abc"]
    assert len({one["segment_id"] for one in described}) == 3


@settings(max_examples=4)
@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_many_parts_are_searched_as_one_index(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int]
) -> None:
    root = tmp_path_factory.mktemp("view")
    documents = random_documents(seed, 400)
    edges = [0, *sorted(cuts), 400]
    starts = list(pairwise(edges))
    parts = [part(root / f"p{n}", documents[a:b], tag=n + 1) for n, (a, b) in enumerate(starts)]
    combined = open_view(root / "views", parts, [None] * len(parts))
    whole = open_view(root / "views", [part(root / "whole", documents)], [None])
    chance = random.Random(seed)
    for _ in range(8):
        question = " ".join(chance.sample(WORDS, 3))
        expected = {hit.row: hit.score for hit in search(whole, question, 400)}
        found = {edges[hit.part] + hit.row: hit.score for hit in search(combined, question, 400)}
        assert found == pytest.approx(expected, abs=1e-4)
    assert combined.rows == whole.rows == 400


@settings(max_examples=15)
@given(data=st.data())
def test_rows_that_are_not_alive_are_never_found_and_all_others_are(
    small: tuple[Path, LexicalPart], data: st.DataObject
) -> None:
    directory, one = small
    dead = data.draw(st.sets(st.integers(0, one.rows - 1)))
    alive = np.ones(one.rows, dtype=np.bool_)
    alive[list(dead)] = False
    everything = search(open_view(directory / "views", [one], [None]), " ".join(WORDS[:5]), one.rows)
    view = open_view(directory / "views", [one], [alive])
    assert search(view, " ".join(WORDS[:5]), one.rows) == [hit for hit in everything if hit.row not in dead]
    assert view.rows == one.rows - len(dead)


def test_hits_come_by_score_then_part_then_row(tmp_path: Path) -> None:
    same = [document("the ferry leaves at seven")] * 5
    parts = [part(tmp_path / name, same, tag) for name, tag in (("z", 9), ("a", 4))]
    hits = search(open_view(tmp_path / "views", parts, [None, None]), "ferry", 7)
    assert [(hit.part, hit.row) for hit in hits] == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1)]


def test_a_word_in_the_title_or_a_heading_counts_more_than_in_the_text(tmp_path: Path) -> None:
    one = part(
        tmp_path / "p",
        [
            document("ferry times and prices of today"),
            document("times and prices of today", "ferry"),
            document("times and prices of today", "harbour", "ferry"),
        ],
    )
    hits = search(open_view(tmp_path / "views", [one], [None]), "ferry")
    assert {hits[0].row, hits[1].row} == {1, 2}
    assert hits[1].score > hits[2].score


def test_an_identifier_search_says_which_forms_a_row_holds_the_rarest_first(tmp_path: Path) -> None:
    texts = ["§12(3)(b) and CVE-2024-3094", "§12(3)(c)", "§12(4)", "CVE-2024-3095"]
    view = open_view(tmp_path / "views", [part(tmp_path / "p", [document(text) for text in texts])], [None])
    hits = view.identifier_search(["§12", "12(3)", "cve-2024-3094", "missing"], 10)
    assert [(hit.row, hit.forms) for hit in hits] == [
        (0, ("cve-2024-3094", "12(3)", "§12")),
        (1, ("12(3)", "§12")),
        (2, ("§12",)),
    ]
    assert view.document_frequency("§12", "identifier") == 3
    many = view.identifier_search([*(f"x{n}" for n in range(100)), "§12"], 10)
    assert [hit.row for hit in many] == [0, 1, 2] and MOST_FORMS < 100


def test_of_near_duplicate_identifiers_the_named_section_is_the_only_exact_hit(tmp_path: Path) -> None:
    sections = re.split(r"^## ", (DATA / "register.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    view = open_view(tmp_path / "views", [part(tmp_path / "p", [document(section) for section in sections])], [None])
    for case in json.loads((DATA / "register.json").read_text("utf-8")):
        forms = [identifier.form for identifier in named(case["query"])]
        hits = [sections[hit.row][0] for hit in view.identifier_search(forms, 10)]
        assert hits == ([case["only_section"]] if case["only_section"] else [])


def test_words_inside_clauses_without_blanks_are_found_and_kyoto_ranks_over_tokyo(tmp_path: Path) -> None:
    sections = [
        (name, section)
        for name in ("zh.md", "ja.md")
        for section in re.split(r"^## ", (DATA / name).read_text("utf-8"), flags=re.MULTILINE)[1:]
    ]
    view = open_view(tmp_path / "views", [part(tmp_path / "p", [document(text) for _, text in sections])], [None])
    for case in json.loads((DATA / "cjk.json").read_text("utf-8")):
        name, section = sections[search(view, case["query"])[0].row]
        assert case["hit"].startswith(f"{name}/{section[0]}")


@pytest.mark.parametrize("question", ["", "\x00", "(((", 'title:"', "a" * 100_000, "*", "NOT", "\ud800", "'; DROP"])
def test_any_question_is_answered(small: tuple[Path, LexicalPart], question: str) -> None:
    directory, one = small
    view = open_view(directory / "views", [one], [None])
    search(view, question)
    assert view.search([(question, 1.0)], 10) == []
    assert view.identifier_search([question], 10) == []
    assert view.document_frequency(question) == 0


def test_of_a_hundred_thousand_terms_the_rarest_are_kept(small: tuple[Path, LexicalPart]) -> None:
    directory, one = small
    view = open_view(directory / "views", [one], [None])
    many = [(f"nothing{n}", 1.0) for n in range(100_000)]
    assert view.search([*many, (WORDS[3], 1.0)], 10) == view.search([(WORDS[3], 1.0)], 10) != []


def test_no_parts_empty_parts_and_limits_out_of_range_give_no_hits(tmp_path: Path) -> None:
    empty = part(tmp_path / "empty", [])
    for parts, alive in (([], []), ([empty], [None]), ([empty], [np.zeros(0, dtype=np.bool_)])):
        view = open_view(tmp_path / "views", parts, alive)
        assert view.rows == 0 and search(view, "ferry") == [] and view.identifier_search(["ferry"], 5) == []
    view = open_view(tmp_path / "views", [empty, part(tmp_path / "p", [document("ferry")], 2)], [None, None])
    assert [hit.part for hit in search(view, "ferry", 10**12)] == [1]
    assert search(view, "ferry", 0) == search(view, "ferry", -1) == []


@pytest.mark.parametrize("kind", ["missing", "cut", "longer"])
def test_a_component_that_is_missing_or_of_another_size_is_named(tmp_path: Path, kind: str) -> None:
    one = part(tmp_path / "p", random_documents(2, 50))
    for path in sorted(one.directory.iterdir()):
        data = path.read_bytes()
        path.unlink()
        if kind != "missing":
            path.write_bytes(data[: len(data) // 2] if kind == "cut" else data + b"?")
        with pytest.raises(CorruptWorkspace, match=re.escape(path.name)):
            open_view(tmp_path / "views", [one], [None])
        path.write_bytes(data)
    assert search(open_view(tmp_path / "views", [one], [None]), WORDS[0])


def test_an_altered_component_is_named_or_answers_without_a_crash(tmp_path: Path) -> None:
    for place in (0.02, 0.5, 0.98):
        one = part(tmp_path / f"p{place}", random_documents(2, 300))
        for number, path in enumerate(sorted(one.directory.iterdir())):
            data = bytearray(path.read_bytes())
            at = int(len(data) * place)
            altered = bytes(data[:at]) + bytes(byte ^ 0xFF for byte in data[at : at + 8]) + bytes(data[at + 8 :])
            path.unlink()  # whoever maps the old file keeps it: cutting a mapped file short would end the process
            path.write_bytes(altered)
            try:
                view = open_view(tmp_path / f"views{place}{number}", [one], [None])
                for word in WORDS[:20]:
                    search(view, word)
            except CorruptWorkspace as error:
                assert str(one.directory) in error.message
            path.unlink()
            path.write_bytes(data)


def test_a_view_that_was_damaged_in_the_cache_is_made_anew(tmp_path: Path) -> None:
    one = part(tmp_path / "p", random_documents(2, 50))
    before = search(open_view(tmp_path / "views", [one], [None]), WORDS[0])
    [place] = (tmp_path / "views").iterdir()
    (place / "meta.json").write_text("{")
    assert search(open_view(tmp_path / "views", [one], [None]), WORDS[0]) == before
    assert [path.name for path in (tmp_path / "views").iterdir()] == [place.name]


def test_a_view_is_used_again_and_never_touches_its_parts(tmp_path: Path) -> None:
    one = part(tmp_path / "p", random_documents(2, 50))
    before = files(one.directory)
    for _ in range(2):
        search(open_view(tmp_path / "views", [one], [np.arange(50) % 2 == 0]), WORDS[0])
    assert files(one.directory) == before
    assert len(list((tmp_path / "views").iterdir())) == 1


def test_processes_open_the_same_view_at_the_same_time(tmp_path: Path) -> None:
    one = part(tmp_path / "p", random_documents(2, 50))
    program = (
        "import sys, pathlib\n"
        "from tychora_format.lexical import LexicalPart, open_view\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "for n in range(10):\n"
        "    alive = [None] if n % 2 else [__import__('numpy').arange(50) != n]\n"
        "    view = open_view(root / 'views', [LexicalPart(root / 'p', 1, 50)], alive)\n"
        "    assert view.search([(sys.argv[2], 1.0)], 50)\n"
    )
    term = content_terms(WORDS[0])[0].terms[0]
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), term], stderr=subprocess.PIPE) for _ in range(4)
    ]
    assert [(process.communicate()[1], process.returncode) for process in running] == [(b"", 0)] * 4
    assert one.rows == 50
