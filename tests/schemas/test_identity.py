"""Identities: the same input gives the same id, spelled by RFC 8785 whatever the road to it."""

from __future__ import annotations

import hashlib

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tychora_schemas.identity import canonical_json, identity, merkle_root

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FLAT = st.dictionaries(TEXT, st.none() | TEXT | st.integers(-(2**53) + 1, 2**53 - 1))
ANY = st.recursive(
    st.none()
    | st.booleans()
    | TEXT
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False, width=32),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=10,
)


@given(FLAT | ANY)
def test_canonical_json_is_that_of_rfc_8785(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


def test_kinds_keep_equal_payloads_apart() -> None:
    assert identity("source", {"a": 1}).split("_")[1] != identity("revision", {"a": 1}).split("_")[1]


def test_the_merkle_root_of_three_leaves_is_that_of_rfc_6962() -> None:
    """MTH(d0, d1, d2) = H(1 ‖ H(1 ‖ H(0 ‖ d0) ‖ H(0 ‖ d1)) ‖ H(0 ‖ d2))."""

    def h(data: bytes) -> bytes:
        return hashlib.sha256(data).digest()

    one, two, three = (bytes([number]) * 32 for number in (1, 2, 3))
    left = h(b"\x01" + h(b"\x00" + one) + h(b"\x00" + two))
    assert merkle_root([one, two, three]) == h(b"\x01" + left + h(b"\x00" + three))
    assert merkle_root([]) == h(b"")
    assert merkle_root([one]) == h(b"\x00" + one)


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=40))
def test_the_merkle_root_follows_the_recursive_definition(leaves: list[bytes]) -> None:
    def mth(part: list[bytes]) -> bytes:
        if not part:
            return hashlib.sha256(b"").digest()
        if len(part) == 1:
            return hashlib.sha256(b"\x00" + part[0]).digest()
        split = 1 << (len(part) - 1).bit_length() - 1
        return hashlib.sha256(b"\x01" + mth(part[:split]) + mth(part[split:])).digest()

    assert merkle_root(leaves) == mth(leaves)
