"""The reading verbs for one caller, who may be allowed only some collections. A scope narrows, it never widens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tychora_schemas.errors import AccessDenied, InvalidRequest, NotFound
from tychora_schemas.receipts import CitationCheck, SourceEvidence, UnitEvidence
from tychora_schemas.result import Citation, QueryResult

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tychora_client.client import Client
    from tychora_schemas.receipts import SnapshotEvidence, SourceEntry

__all__ = ["CONTINUED", "Collections", "Reader", "Scope"]

Collections = frozenset[str]
Scope = Callable[[], Collections | None]
"""Tells the collections that the current call may read; None stands for all."""

CONTINUED = "~"
"""In a cursor, stands between a run's id and what was shown of it. A cursor is taken wherever a run's id is."""


class Reader:
    """A client's reading verbs, each inside the scope of the call. They raise what the client raises, and
    AccessDenied for a filter or a run that reaches outside; what lies outside is otherwise NotFound."""

    def __init__(self, client: Client, scope: Scope) -> None:
        self.client = client
        self.scope = scope

    def search(
        self, question: str, k: int, at: str, filters: Mapping[str, str | Sequence[str]], budget_tokens: int
    ) -> QueryResult:
        """As `Client.search`."""
        return self.client.search(question, k, at=at, filters=self._narrowed(filters), budget_tokens=budget_tokens)

    def replay(self, run_id: str) -> QueryResult:
        """As `Client.replay`; a run belongs to whoever may read every collection that it asked."""
        from tychora_functions.query.replay import Run

        run_id = run_id.partition(CONTINUED)[0]
        allowed = self.scope()
        if allowed is not None:
            asked = Run.decode(run_id).request.filters.get("collection", ())
            if not asked or not allowed.issuperset(asked):
                raise AccessDenied(
                    "this run reaches into collections that you may not read",
                    next_step="ask the question again: the answer is then from the collections that you may read",
                )
        return self.client.replay(run_id)

    def evidence(self, id: str, at: str) -> UnitEvidence | SourceEvidence | SnapshotEvidence:
        """As `Client.evidence`. A snapshot is about all collections: NotFound for whoever may not read them all."""
        found = self.client.evidence(id, at)
        allowed = self.scope()
        if allowed is None:
            return found
        if isinstance(found, UnitEvidence | SourceEvidence) and found.source.collection in allowed:
            return found
        raise NotFound(f"there is no {id} in {at}", next_step="list_sources shows what you may read")

    def verify_citation(self, citation: str | Mapping[str, Any]) -> CitationCheck:
        """As `Client.verify_citation`, also for `RUN_ID#CITATION_ID`. Whoever may not read every collection can check
        what their collections hold in the newest snapshot."""
        checked = self._of_run(citation) if isinstance(citation, str) else citation
        if self.scope() is not None:
            content = checked.content_sha256 if isinstance(checked, Citation) else checked.get("content_sha256")
            if content not in {source.content_sha256 for source in self.sources(None, None, "main")}:
                return CitationCheck(holds=False, reason="no source that you may read has the cited content")
        return self.client.verify_citation(checked)

    def sources(self, collection: str | None, state: str | None, at: str) -> list[SourceEntry]:
        """As `Client.sources`."""
        allowed = self.scope()
        if allowed is not None and collection is not None and collection not in allowed:
            raise _outside([collection])
        entries = self.client.sources(collection, state, at)
        return [entry for entry in entries if allowed is None or entry.collection in allowed]

    def outline(self, source: str, at: str = "main") -> BaseModel:
        """The headings or symbols of a source, named by its id or its path."""
        from tychora_functions.outline import outline

        return outline(self.client.workspace, self._source(source, at), at)

    def overview(self) -> dict[str, Any]:
        """The newest snapshot at a glance, counted over what may be read; where the workspace lies is not told."""
        overview = self.client.inspect()
        entries = self.sources(None, None, overview.snapshot_id or "main")
        names = sorted({entry.collection for entry in entries})
        shown: dict[str, Any] = {
            "profile": overview.profile,
            "snapshot_id": overview.snapshot_id,
            "sources": len(entries),
            "collections": {name: sum(entry.collection == name for entry in entries) for name in names},
        }
        return shown if self.scope() is not None else {**shown, "kinds": overview.kinds, "chunks": overview.chunks}

    def _narrowed(self, filters: Mapping[str, str | Sequence[str]]) -> dict[str, str | Sequence[str]]:
        allowed = self.scope()
        if allowed is None:
            return dict(filters)
        given = filters.get("collection", ())
        asked = [given] if isinstance(given, str) else list(given)
        if outside := [name for name in asked if name not in allowed]:
            raise _outside(outside)
        if not asked and not allowed:
            raise AccessDenied("you may read no collection", next_step="ask for a key that names one")
        return {**filters, "collection": asked or sorted(allowed)}

    def _of_run(self, reference: str) -> Citation:
        run_id, mark, name = reference.strip().partition("#")
        if not mark or not name.startswith("citation_"):
            raise InvalidRequest(
                "this names no citation", next_step="give RUN_ID#CITATION_ID of a search, or a citation's JSON"
            )
        found = [each for each in self.replay(run_id).citations if each.id.startswith(name)]
        if len(found) == 1:
            return found[0]
        raise NotFound(
            f"{name} names {len(found) or 'no'} citations of this run",
            next_step="give a citation's id as the search gave it",
        )

    def _source(self, named: str, at: str) -> str:
        """The id of a source that may be read, from its id or path."""
        if named.startswith("source_"):
            found = self.evidence(named, at)
            return found.id
        matching = [entry for entry in self.sources(None, None, at) if named in (entry.path, *entry.paths)]
        if len(matching) == 1:
            return matching[0].id
        raise NotFound(
            f"{len(matching) or 'no'} sources have the path {named!r}",
            next_step="give the source's id: list_sources has them",
        )


def _outside(collections: Sequence[str]) -> AccessDenied:
    return AccessDenied(
        f"you may not read {', '.join(map(repr, collections))}", next_step="leave the filter out, or name your own"
    )
