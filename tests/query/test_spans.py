"""What is marked in a text is what was asked for, character by character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tychora_functions.query.question import Question
from tychora_functions.query.spans import Marker


@pytest.mark.parametrize(
    ("text", "question", "marked"),
    [
        ("The ferries leave.", "When does the ferry leave?", ["ferries", "leave"]),
        ("parseHTTPResponse and http_client", "http", ["parseHTTPResponse", "http_client"]),
        ("CVE-2024-3094 and CVE-2024-3095", "cve-2024-3095", ["CVE-2024-3095"]),
        ("Duty under §12(3)(b) of it", "§ 12(3)(b)", ["§12(3)(b)"]),
        ("Written in C++ and C.", "C++", ["C++"]),
        ("東京都の図書館", "京都", ["京都"]),
        ("自动化测试覆盖率", "覆盖率", ["覆盖率"]),
        ("云工坊发放学生券", "优惠券 学生", ["学生"]),
        ("Die Gr\u006f\u0308\u00dfe der Fähre", "Fähre", ["Fähre"]),
        ("nothing of it", "ferry", []),
    ],
)
def test_words_identifiers_and_runs_are_marked(text: str, question: str, marked: list[str]) -> None:
    found = [text[start:end] for start, end in Marker(Question(question)).matched(text)]
    assert [part for part in found if part in marked] == marked
    assert all(any(part in whole or whole in part for whole in marked) for part in found)


@given(st.text(max_size=200), st.text(max_size=40))
def test_spans_rise_and_lie_in_any_text(text: str, question: str) -> None:
    end = 0
    for start, stop in Marker(Question(question)).matched(text):
        assert end <= start < stop <= len(text)
        end = stop
