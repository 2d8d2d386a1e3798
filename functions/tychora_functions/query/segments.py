"""Segments: drafts written out, each with its source, its citations and what matched in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from tychora_format.tables import SourceRow
from tychora_functions.query.budget import Budget
from tychora_functions.query.candidates import Place
from tychora_functions.query.citations import cite, quotes
from tychora_functions.query.context import context_of
from tychora_functions.query.coverage import Evidence
from tychora_functions.query.drafts import Draft
from tychora_functions.query.eligibility import Eligible
from tychora_functions.query.matching import Matcher
from tychora_functions.query.pieces import Piece, pieces_of
from tychora_functions.query.spans import Marker
from tychora_functions.query.trace import Trace
from tychora_schemas.identity import content_sha256, identity
from tychora_schemas.result import Citation, Segment, SegmentSource, Span

__all__ = ["Written", "write"]


@dataclass(frozen=True, slots=True)
class Written:
    """A finished segment with its citations, and the draft that it came from."""

    segment: Segment
    citations: list[Citation]
    draft: Draft

    def evidence(self, forms: Mapping[Place, tuple[str, ...]]) -> Evidence:
        """What it says; `forms` are the identifier forms that found rows hold."""
        segment = self.segment
        text = "\n".join([segment.source.title, *segment.heading_path, segment.context, segment.text])
        found = {form for chunk in self.draft.chunks for form in forms.get((self.draft.place[0], chunk.row), ())}
        return Evidence(text, segment.source.path, frozenset(found))


def write(
    draft: Draft, scope: Eligible, marker: Marker, matcher: Matcher, budget: Budget, trace: Trace
) -> Iterator[Written]:
    """A draft's segments: one per collection that holds its content, never one for two collections."""
    for _, group in groupby(scope.sources_of(draft.extraction.extraction_id), key=lambda row: row.collection):
        sources = list(group)
        pieces = budget.admit(pieces_of(draft.chunks), matcher.relevance)
        if pieces is None:
            trace.cut("no room in the budget", source=sources[0].path, score=draft.score)
            continue
        yield _written(draft, sources, pieces, marker)


def _written(draft: Draft, sources: Sequence[SourceRow], pieces: Sequence[Piece], marker: Marker) -> Written:
    extraction, source = draft.extraction, sources[0]
    text, runs = quotes(pieces)
    citations = [cite(run, source, extraction.content_sha256) for run in runs]
    payload = {
        "source": source.source_id,
        "extraction": extraction.extraction_id,
        "first_unit": pieces[0].ordinal,
        "text": content_sha256(text.encode("utf-8", "surrogatepass")),
    }
    segment = Segment(
        id=identity("segment", payload),
        text=text,
        score=draft.score,
        channels=dict(sorted(draft.ranks.items())),
        source=SegmentSource(
            id=source.source_id,
            collection=source.collection,
            path=source.path,
            title=extraction.title or PurePosixPath(source.path).stem,
            kind=extraction.kind,
        ),
        heading_path=draft.chunks[0].heading_path,
        citations=tuple(dict.fromkeys(citation.id for citation in citations)),
        matched=tuple(Span(start=start, end=end) for start, end in marker.matched(text)),
        also_at=tuple(other.path for other in sources[1:]),
        context=context_of(draft, text),
        untrusted=True,
    )
    return Written(segment, citations, draft)
