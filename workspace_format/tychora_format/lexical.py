"""The lexical index: one Tantivy segment per batch, and views that search many of them as one.

A batch holds the segment's component files, named by their content, and `lexical.json`, which says what a reader needs
to write Tantivy's own `meta.json`. The document number is the chunk's row. A reader combines segments in a *view*: a
directory of its cache with links to the components, a `meta.json` that lists them and bit sets of the rows that are
not alive. Views are disposable, are never written to by Tantivy, and the global document frequencies span all parts.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tychora_format.analysis import ANALYSIS_VERSION
from tychora_format.analysis import terms as index_terms
from tychora_format.cache import hash_file
from tychora_format.lexical_view import (
    DESCRIPTION,
    Alive,
    LexicalPart,
    complete,
    describe,
    discard,
    forget_old,
    make,
    mask_digest,
    naming_damage,
)
from tychora_schemas.errors import BudgetExceeded

__all__ = ["DESCRIPTION", "Hit", "LexicalDocument", "LexicalPart", "View", "build", "open_view"]

Field = Literal["body", "title", "identifier"]

TITLE_BOOST = 0.5
"""Title and heading path are part of the body (each once: a heading that stands in the text is not repeated), and count
again by this much in a field of their own. The sum of a body without them and a title boosted by 2 is worse (nDCG@10
SciFact .656 against .701, Cranfield .386 against .407)."""

MOST_TERMS = 256
"""A question with more distinct terms keeps its rarest ones."""

MOST_FORMS = 24
"""Identifier forms of one search: as many as a float32 score can count as separate bits."""

_COMPONENTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_HEAP_BYTES = 4_000_000_000


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """What one row is found by. `identifiers` are normal forms (identifiers.py)."""

    text: str
    title: str
    heading_path: Sequence[str]
    identifiers: Sequence[str]


@dataclass(frozen=True, slots=True)
class Hit:
    """A row of the `part`-th part of a view; `forms` are the identifier forms that it holds."""

    part: int
    row: int
    score: float
    forms: tuple[str, ...] = ()


def build(directory: Path, documents: Iterable[LexicalDocument], tag: int) -> None:
    """Write the lexical files of a batch: the n-th document is row n. The same input gives the same bytes.

    Raises BudgetExceeded where the documents don't fit one segment's memory (4 GB of postings).
    """
    import tantivy

    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".build-") as scratch:
        index = tantivy.Index(_schema(), path=scratch)
        writer = index.writer(_HEAP_BYTES, 1)
        rows = 0
        for rows, document in enumerate(documents, start=1):
            writer.add_document(_tantivy_document(document, tag << 32 | rows - 1))
        writer.commit()
        writer.wait_merging_threads()
        meta = json.loads(Path(scratch, "meta.json").read_text("utf-8"))
        if len(meta["segments"]) > 1:
            raise BudgetExceeded(
                f"{rows} documents do not fit one lexical segment", next_step="publish them in several batches"
            )
        made = {suffix: path for path in Path(scratch).glob("*.*") if (suffix := path.suffix[1:]) in _COMPONENTS}
        sizes = {suffix: made[suffix].stat().st_size for suffix in _COMPONENTS if suffix in made}
        hashes = [bytes.fromhex(hash_file(made[suffix])) for suffix in sizes]
        segment = uuid.UUID(bytes=sha256(b"".join(hashes)).digest()[:16])
        for suffix in sizes:
            made[suffix].replace(directory / f"{segment.hex}.{suffix}")
        description = {
            "analysis": ANALYSIS_VERSION,
            "segment_id": str(segment),
            "tag": tag,
            "rows": rows,
            "files": {f"{segment.hex}.{suffix}": size for suffix, size in sizes.items()},
            "index": {"index_settings": meta["index_settings"], "schema": meta["schema"]},
        }
        text = json.dumps(description, indent=1, sort_keys=True) + "\n"
        (directory / DESCRIPTION).write_text(text, "utf-8", newline="\n")


def open_view(directory: Path, parts: Sequence[LexicalPart], alive: Sequence[Alive | None]) -> View:
    """Open the parts as one index in which only the rows that are alive exist (`None`: all of them).

    `directory` is a cache of views, shared by any number of processes: a view that was made before is used again.
    Raises CorruptWorkspace naming the file that is missing or damaged.
    """
    described = [describe(part) for part in parts]
    masks = [None if mask is None or mask.all() else np.asarray(mask, dtype=np.bool_) for mask in alive]
    for part, mask in zip(parts, masks, strict=True):
        if mask is not None and mask.shape != (part.rows,):
            raise ValueError(f"a mask of {mask.shape} for {part.rows} rows")
    chosen = [n for n, mask in enumerate(masks) if parts[n].rows and (mask is None or mask.any())]
    identity = [[described[n]["segment_id"], mask_digest(masks[n])] for n in chosen]
    place = directory / sha256(json.dumps(identity).encode()).hexdigest()[:32]
    if not chosen:
        return View(None, parts, [])
    with naming_damage(parts):
        for attempts_left in (2, 1, 0):
            if not complete(place, [described[n] for n in chosen]):
                make(place, [parts[n] for n in chosen], [described[n] for n in chosen], [masks[n] for n in chosen])
                forget_old(directory, keep=place)
            try:
                os.utime(place)
                return View(place, parts, chosen)
            except (OSError, ValueError):
                # Forgotten by another process meanwhile, or damaged in the cache: the parts make it anew.
                if not attempts_left:
                    raise
                discard(place)
    raise AssertionError("unreachable")


class View:
    """Several lexical parts, searched as one index. Safe to share between threads."""

    def __init__(self, place: Path | None, parts: Sequence[LexicalPart], chosen: Sequence[int]) -> None:
        self._parts = parts
        self._chosen = chosen
        self._searcher: Any = None
        if place is None:
            return
        import tantivy

        index = tantivy.Index.open(str(place))
        index.config_reader(reload_policy="manual")
        self._schema = index.schema
        self._searcher = index.searcher()
        first = [tantivy.DocAddress(ordinal, 0) for ordinal in range(len(chosen))]
        if self._searcher.fast_field_values("key", first) != [parts[n].tag << 32 for n in chosen]:
            raise ValueError("the segments of the view are not those of its parts")

    @property
    def rows(self) -> int:
        """Rows in the view, alive ones only."""
        return int(self._searcher.num_docs) if self._searcher else 0

    def search(self, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        """The best rows by BM25 (k1 1.2, b 0.75) over `(index term, weight)` pairs; equal scores by part and row."""
        if not self._searcher:
            return []
        weights: dict[str, float] = defaultdict(float)
        for term, weight in terms:
            weights[term] += weight
        if len(weights) > MOST_TERMS:
            rarest = sorted(weights, key=lambda term: (self.document_frequency(term) or math.inf, term))[:MOST_TERMS]
            weights = {term: weights[term] for term in rarest}
        # A clause of constant score for presence (BM25+) found one question more of 68 and took thrice as long: it
        # keeps Tantivy from skipping rows that cannot reach the best.
        clauses = [
            self._term(field, term, weight * boost)
            for term, weight in weights.items()
            for field, boost in (("body", 1.0), ("title", TITLE_BOOST))
        ]
        return [Hit(part, row, score) for score, part, row in self._best(clauses, limit)]

    def identifier_search(self, forms: Sequence[str], limit: int) -> list[Hit]:
        """The rows that hold any of the forms, each with those it holds: the rows of the rarest form first.

        At most `MOST_FORMS` forms are looked up; the score only orders.
        """
        import tantivy

        rows = {form: self.document_frequency(form, "identifier") for form in forms}
        kept = sorted((form for form in rows if rows[form]), key=lambda form: (-rows[form], form))[-MOST_FORMS:]
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.const_score_query(self._term("identifier", form, 1.0)[1], 2.0**bit))
            for bit, form in enumerate(kept)
        ]
        return [
            Hit(part, row, score, tuple(f for bit, f in enumerate(kept) if int(score) >> bit & 1)[::-1])
            for score, part, row in self._best(clauses, limit)
        ]

    def document_frequency(self, term: str, field: Field = "body") -> int:
        """How many rows hold the term, those that are not alive included (as BM25 counts them)."""
        if not self._searcher:
            return 0
        with naming_damage(self._parts):
            return int(self._searcher.doc_freq(field, _encodable(term)))

    def idf(self, term: str, field: Field = "body") -> float:
        """Inverse document frequency as in BM25: ln(1 + (N - n + 0.5) / (n + 0.5))."""
        total = sum(self._parts[n].rows for n in self._chosen)
        holding = self.document_frequency(term, field)
        return math.log(1 + (total - holding + 0.5) / (holding + 0.5))

    def _term(self, field: Field | str, term: str, weight: float) -> tuple[Any, Any]:
        import tantivy

        option = "basic" if field == "identifier" else "freq"
        query = tantivy.Query.term_query(self._schema, field, _encodable(term), index_option=option)
        return tantivy.Occur.Should, query if weight == 1.0 else tantivy.Query.boost_query(query, weight)

    def _best(self, clauses: Sequence[tuple[Any, Any]], limit: int) -> list[tuple[float, int, int]]:
        if not self._searcher or not clauses or limit < 1:
            return []
        import tantivy

        with naming_damage(self._parts):
            limit = min(limit, self.rows)
            found = self._searcher.search(tantivy.Query.boolean_query(list(clauses)), limit, count=False).hits
        hits = [(score, self._chosen[address.segment_ord], address.doc) for score, address in found]
        return sorted(hits, key=lambda hit: (-hit[0], hit[1], hit[2]))


def _encodable(term: str) -> str:
    return term.encode("utf-8", "replace").decode()


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("title", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("identifier", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("key", fast=True)
    return builder.build()


def _tantivy_document(document: LexicalDocument, key: int) -> Any:
    import tantivy

    title = index_terms("\n".join((document.title, *document.heading_path)))
    above = [document.title, *(heading for heading in document.heading_path if heading not in document.text)]
    made = tantivy.Document()
    made.add_text("body", " ".join(index_terms("\n".join((*above, document.text)))))
    made.add_text("title", " ".join(title))
    for form in document.identifiers:
        made.add_text("identifier", _encodable(form))
    made.add_unsigned("key", key)
    return made
