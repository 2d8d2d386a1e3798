"""The workspace, held in one hand: every verb as a method, typed results, typed errors."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from pydantic import ValidationError

from tychora_functions.progress import Progress
from tychora_schemas.errors import InvalidRequest, UnsupportedContent
from tychora_schemas.requests import Channel, Fusion, QueryRequest
from tychora_schemas.result import Citation, QueryResult
from tychora_schemas.settings import ResolvedSettings, resolve_settings

if TYPE_CHECKING:
    # Only named in annotations: making the models of all receipts would cost a tenth of a cold search.
    from tychora_format.workspace import Workspace
    from tychora_schemas.receipts import (
        AddReport,
        CitationCheck,
        ConfigurationEntry,
        HistoryEntry,
        InventoryReport,
        JobEntry,
        SnapshotEvidence,
        SourceEntry,
        SourceEvidence,
        UnitEvidence,
        VerifyReport,
        WorkspaceOverview,
    )

__all__ = ["Client", "Filters", "Paths", "Watcher"]

Paths = str | Path | Sequence[str | Path]
Filters = Mapping[str, str | Sequence[str]]
Watcher = Callable[[Progress], None]


class Client:
    """A workspace in a directory or at an `s3://…` URL. `flags` are settings, over those of every other layer.

    Opening costs nothing until the first call; that and every other call raises a `TychoraError`. Calls from several
    threads at once are safe. As a context manager it closes itself.
    """

    def __init__(self, workspace: str | Path, **flags: Any) -> None:
        self.url = _place(workspace)
        self.flags = flags
        self._opening = threading.Lock()
        self._opened: Workspace | None = None

    @classmethod
    def create(
        cls, workspace: str | Path, profile: str = "documents", settings: Mapping[str, Any] | None = None
    ) -> Client:
        """Make an empty workspace and open it. `settings` stay with it. Raises Conflict when there is one already."""
        from tychora_format.workspace import Workspace

        client = cls(workspace)
        resolve_settings(profile, settings, environment={})
        client._opened = Workspace.create(client.url, profile=profile, settings=settings)
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of everything held. The next call opens the workspace again."""
        with self._opening:
            self._opened = None

    @property
    def workspace(self) -> Workspace:
        """The bundle, opened. Raises NotFound where there is none."""
        with self._opening:
            if self._opened is None:
                from tychora_format.workspace import Workspace

                self._opened = Workspace.open(self.url)
            return self._opened

    @property
    def settings(self) -> ResolvedSettings:
        """The settings in force, with the layer that each came from."""
        marker = self.workspace.marker
        return resolve_settings(marker.profile, marker.settings, self.flags)

    @overload
    def add(
        self,
        paths: Paths,
        collection: str = "default",
        *,
        dry_run: Literal[False] = False,
        name: str | None = None,
        progress: Watcher | None = None,
    ) -> AddReport: ...

    @overload
    def add(
        self,
        paths: Paths,
        collection: str = "default",
        *,
        dry_run: Literal[True],
        name: str | None = None,
        progress: Watcher | None = None,
    ) -> InventoryReport: ...

    def add(
        self,
        paths: Paths,
        collection: str = "default",
        *,
        dry_run: bool = False,
        name: str | None = None,
        progress: Watcher | None = None,
    ) -> AddReport | InventoryReport:
        """Capture, parse, embed and publish what is at `paths`; adding a root again syncs it.

        Folders are walked. `name` is what the root is called in source paths. `dry_run` only says what would happen.
        Ctrl-C ends the run after what is prepared so far was committed: the report then has `interrupted` set.
        """
        from tychora_functions import add as adding

        chosen = [paths] if isinstance(paths, str | Path) else list(paths)
        run = adding.inventory if dry_run else adding.add
        return run(self.workspace, chosen, collection=collection, settings=self.settings, name=name, progress=progress)

    def search(
        self,
        question: str,
        k: int = 8,
        *,
        at: str = "main",
        filters: Filters | None = None,
        budget_tokens: int | None = None,
        segment_tokens: int | None = None,
        channels: Sequence[Channel] | None = None,
        fusion: Fusion | None = None,
        context: bool = True,
        trace: bool = False,
        strict: bool = False,
    ) -> QueryResult:
        """The best `k` segments of evidence for a question, cited, and which of its words they cover.

        `filters` maps `collection`, `kind`, `path` (a shell pattern) or `language` to one value or to alternatives.
        `QueryRequest` says what the others mean; budget and fusion default to the settings.
        """
        from tychora_functions.query import query

        settings = self.settings.settings
        asked: dict[str, Any] = {
            "question": question,
            "k": k,
            "at": at,
            "filters": _by_key(filters or {}),
            "budget_tokens": settings.query_budget_tokens if budget_tokens is None else budget_tokens,
            "segment_tokens": segment_tokens,
            "channels": None if channels is None else tuple(channels),
            "fusion": fusion or settings.query_fusion,
            "context": context,
            "trace": trace,
            "strict": strict,
        }
        try:
            request = QueryRequest(**{key: value for key, value in asked.items() if value is not None})
        except ValidationError as error:
            raise _refused(error) from error
        return query(self.workspace, request)

    def replay(self, run_id: str) -> QueryResult:
        """The result of an earlier search again, from its token: the same segments wherever its snapshot is."""
        from tychora_functions.query import replay

        return replay(self.workspace, run_id)

    def evidence(self, id: str, at: str = "main") -> UnitEvidence | SourceEvidence | SnapshotEvidence:
        """What a unit's, source's, revision's or snapshot's id names. At least 8 digits of it are needed."""
        from tychora_functions.evidence import evidence

        return evidence(self.workspace, id, at)

    def verify_citation(self, citation: Citation | Mapping[str, Any]) -> CitationCheck:
        """Whether the quote stands at its place in the retained original. Takes a citation's JSON as well."""
        from tychora_functions.evidence import verify_citation

        try:
            checked = citation if isinstance(citation, Citation) else Citation.model_validate(citation)
        except ValidationError as error:
            raise _refused(error) from error
        return verify_citation(self.workspace, checked)

    def sources(self, collection: str | None = None, state: str | None = None, at: str = "main") -> list[SourceEntry]:
        """The live sources by collection and path, or those of one collection or state."""
        from tychora_functions.inspection import sources

        return sources(self.workspace, collection, state, at)

    def log(self) -> list[HistoryEntry]:
        """The commits at this location, newest first."""
        from tychora_functions.inspection import history

        return history(self.workspace)

    def inspect(self) -> WorkspaceOverview:
        """Counts, sizes, the newest snapshot, the families of vectors."""
        from tychora_functions.inspection import overview

        return overview(self.workspace)

    def configuration(self) -> list[ConfigurationEntry]:
        """Every setting with its value and the layer that gave it; secrets are not shown."""
        from tychora_functions.inspection import configuration

        return configuration(self.workspace, self.flags)

    def jobs(self) -> list[JobEntry]:
        """What runs prepared at this location and did not commit yet."""
        from tychora_functions.inspection import jobs

        return jobs(self.workspace)

    def verify(self, sample: float = 1.0, progress: Watcher | None = None) -> VerifyReport:
        """Check every file of the newest snapshot, or a `sample` of them from 0 to 1, and all that must hold."""
        from tychora_functions.verify import verify

        return verify(self.workspace, sample=sample, progress=progress)


def _place(workspace: str | Path) -> str:
    place = os.fspath(workspace)
    if re.match(r"https?://", place, re.IGNORECASE):
        raise InvalidRequest(
            f"{place} is an endpoint, which this version cannot ask",
            next_step="give a directory or an s3:// URL that holds the workspace",
        )
    if place.endswith(".tychora") and not Path(place).is_dir():
        raise UnsupportedContent(
            f"{place} is a packed workspace, which this version does not read as it is",
            next_step="unpack it into a directory and give that",
        )
    return place


def _by_key(filters: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(filters, Mapping):
        raise InvalidRequest("filters are no mapping", next_step='give one such as {"kind": "code"}')
    return {key: _alternatives(value) for key, value in filters.items()}


def _alternatives(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _refused(error: ValidationError) -> InvalidRequest:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"]) or "the value"
    return InvalidRequest(f"{name} is not possible: {first['msg'].lower()}", next_step=f"change {name}")
