"""What a proof rests on: pruned Merkle trees, and when a quote follows from units."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tychora_format.proof import check_proof, is_quoted, prune, root_of
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.identity import merkle_root
from tychora_schemas.proof import ProofSource, ProofUnit, Tree

SOURCE = {"id": "source", "path": "a.md", "state": "indexed", "revision_id": "revision_" + "0" * 64}
HEAVY = ("pyarrow", "numpy", "lance", "tantivy", "fsspec", "tokenizers", "lxml", "duckdb", "pypdfium2")


def leaves_of(size: int) -> list[bytes]:
    return [hashlib.sha256(str(number).encode()).digest() for number in range(size)]


def hashes(tree: Tree) -> int:
    """How many hashes a tree shows."""
    return int(isinstance(tree, str)) if not isinstance(tree, tuple) else sum(map(hashes, tree))


def test_every_leaf_of_every_tree_leads_to_the_root() -> None:
    """And as RFC 6962 has it, with no more hashes than the tree has levels."""
    for size in (*range(1, 66), 127, 128, 129, 255, 256, 257, 300):
        leaves = leaves_of(size)
        root = merkle_root(leaves)
        for position in range(size):
            tree = prune(leaves, [position])
            assert root_of(tree, [leaves[position]]) == root
            assert hashes(tree) <= (size - 1).bit_length()


@given(st.integers(1, 300), st.data())
def test_any_leaves_share_one_tree(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    wanted = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    assert root_of(prune(leaves, wanted), [leaves[position] for position in wanted]) == merkle_root(leaves)


@given(st.integers(2, 300), st.data())
def test_another_leaf_never_leads_to_the_root(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    position, other = data.draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
    assert root_of(prune(leaves, [position]), [leaves[other]]) != merkle_root(leaves)


@given(st.integers(1, 300), st.data())
def test_a_changed_bit_of_a_leaf_or_hash_never_leads_to_the_root(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    tree = prune(leaves, [data.draw(st.integers(0, size - 1))])
    shown: list[str] = []

    def gather(node: Tree) -> None:
        if isinstance(node, str):
            shown.append(node)
        elif isinstance(node, tuple):
            gather(node[0])
            gather(node[1])

    gather(tree)
    leaf = next(leaf for leaf in leaves if root_of(tree, [leaf]) == merkle_root(leaves))
    which, bit = data.draw(st.integers(0, len(shown))), data.draw(st.integers(0, 255))

    def altered(digits: str) -> str:
        return f"{int(digits, 16) ^ (1 << bit):064x}"

    if which == len(shown):
        leaf = bytes.fromhex(altered(leaf.hex()))
    else:
        tree = replaced(tree, shown[which], altered(shown[which]))
    assert root_of(tree, [leaf]) != merkle_root(leaves)


def replaced(tree: Tree, old: str, new: str) -> Tree:
    if isinstance(tree, tuple):
        return replaced(tree[0], old, new), replaced(tree[1], old, new)
    return new if tree == old else tree


def test_a_tree_with_swapped_children_missing_or_repeated_leaves_has_another_root_or_none() -> None:
    leaves = leaves_of(4)
    tree = prune(leaves, [0, 1])
    assert isinstance(tree, tuple)
    assert root_of(tree[::-1], leaves[:2]) != merkle_root(leaves)
    assert root_of(((1, 0), tree[1]), leaves[:2]) is None
    assert root_of(((0, 0), tree[1]), leaves[:1]) is None
    assert root_of(merkle_root(leaves).hex(), leaves[:1]) is None
    assert root_of((0, 7), leaves[:2]) is None


def unit(ordinal: int, text: str, first: int | None = None, **place: object) -> ProofUnit:
    if first is not None:
        place["bytes"] = [first, first + len(text.encode(str(place.get("encoding", "utf-8"))))]
    return ProofUnit(id="unit_" + "0" * 64, ordinal=ordinal, kind="paragraph", text=text, locator=json.dumps(place))


LITERAL = [unit(3, "The ferry", 10), unit(4, "leaves at séven.", 21)]
READ = [unit(3, "The  ferry", page=1), unit(4, "leaves at\nseven.", page=1)]


@pytest.mark.parametrize(
    ("quote", "place", "holds"),
    [
        ("The ferry\n\nleaves at séven.", (10, 38), True),
        ("ferry\n\nleaves", (14, 27), True),
        ("ferry", (14, 19), True),
        ("ferry\n\nleaves", (14, 28), False),
        ("ferry no leaves", (14, 29), False),
        ("ferry--leaves", (14, 27), False),
        ("ferry", (13, 18), False),
        ("\n\nleaves", (19, 27), False),
        ("leaves at séven.\n", (21, 39), False),
        ("", (14, 14), False),
    ],
)
def test_a_literal_quote_must_be_the_units_bytes_with_blanks_between(
    quote: str, place: tuple[int, int], holds: bool
) -> None:
    units = LITERAL[:1] if quote == "ferry" else LITERAL
    assert is_quoted(quote, place, units) is holds


@pytest.mark.parametrize(
    ("quote", "holds"),
    [
        ("The ferry leaves  at seven.", True),
        ("The ferryleaves at seven.", True),
        ("The ferry leaves at seven", False),
        ("ferry leaves at seven.", False),
        ("The ferry never leaves at seven.", False),
        ("Theferry leaves at seven.", False),
    ],
)
def test_a_quote_of_several_read_units_must_be_all_of_them(quote: str, holds: bool) -> None:
    assert is_quoted(quote, None, READ) is holds


def test_a_quote_of_one_read_unit_may_be_a_part_of_it() -> None:
    assert is_quoted("at seven", None, READ[1:])
    assert not is_quoted("at eight", None, READ[1:])
    assert not is_quoted("  ", None, READ[1:])


def test_units_must_be_neighbours_in_order() -> None:
    apart = [READ[0], READ[1].model_copy(update={"ordinal": 5})]
    assert not is_quoted("The ferry leaves at seven.", None, apart)
    assert not is_quoted("leaves at seven. The ferry", None, READ[::-1])


def test_places_and_encodings_that_lie_are_refused() -> None:
    assert not is_quoted("ferry", (0, 5), [unit(0, "ferry", page=1)])
    assert not is_quoted("ferry", (0, 5), [unit(0, "ferry", encoding="no such", bytes=[0, 5])])
    assert not is_quoted("ferry", (0, 5), [unit(0, "ferry", encoding="hex", bytes=[0, 5])])
    assert not is_quoted("ferry", (0, 5), [unit(0, "ferry too long", bytes=[0, 5])])
    assert is_quoted("sé", (2, 6), [unit(0, "xsé", 0, encoding="utf-16-le")])


@given(st.binary(max_size=300))
def test_any_bytes_are_answered(data: bytes) -> None:
    assert not check_proof(data, "0" * 64).holds


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["version", "units"]), inner),
        max_leaves=20,
    )
)
def test_any_json_is_answered(value: object) -> None:
    assert not check_proof(json.dumps(value).encode("utf-8", "surrogatepass"), "0" * 64).holds


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 100_000, "1e999999", "nul", "", '"\\ud800"'])
def test_hostile_json_is_answered(text: str) -> None:
    check = check_proof(text.encode(), "0" * 64)
    assert not check.holds and check.reason.startswith("this is no citation proof")


@pytest.mark.parametrize("tree", [[0] * 9, [0, [0, None]], -1, True, 0.5, "0", "A" * 64, {}, None])
def test_a_tree_is_numbers_hashes_and_pairs(tree: object) -> None:
    with pytest.raises(ValidationError):
        ProofSource.model_validate_json(json.dumps({**SOURCE, "tree": tree}))


def test_a_tree_beyond_any_need_is_refused_at_once() -> None:
    deep, wide = "[0," * 100 + "0" + "]" * 100, "0"
    for _ in range(17):
        wide = f"[{wide},{wide}]"
    for tree in (deep, wide):
        with pytest.raises(ValidationError, match="larger than any"):
            ProofSource.model_validate_json(json.dumps(SOURCE)[:-1] + f', "tree": {tree}}}')


@pytest.mark.parametrize(
    "snapshot_id", ["", "main", "0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n", "snapshot_" + "0" * 64]
)
def test_only_a_whole_snapshot_id_is_accepted(snapshot_id: str) -> None:
    with pytest.raises(InvalidRequest, match="no snapshot's id"):
        check_proof(b"{}", snapshot_id)


def test_checking_loads_nothing_heavy() -> None:
    code = "import sys; import tychora_format.proof; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(done.stdout.split())
