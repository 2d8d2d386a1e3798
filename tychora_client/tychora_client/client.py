"""The workspace, held in one hand: every verb as a method, typed results, typed errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from pydantic import ValidationError

from tychora_client.place import as_place, is_packed, on_this_machine, with_similar_names
from tychora_functions.progress import Watcher
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound
from tychora_schemas.requests import Channel, Fusion, QueryRequest
from tychora_schemas.result import Citation, QueryResult
from tychora_schemas.settings import ResolvedSettings, resolve_settings

if TYPE_CHECKING:
    # Only named in annotations: making the models of all receipts would cost a tenth of a cold search.
    from tychora_client.upkeep import Upkeep
    from tychora_format.workspace import Workspace
    from tychora_schemas.difference import DifferenceReport
    from tychora_schemas.maintenance import TagReport
    from tychora_schemas.proof import CitationProof
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
        StatementEntry,
        UnitEvidence,
        VerifyReport,
        WorkspaceOverview,
    )
    from tychora_schemas.transport import PackReport

__all__ = ["Client", "Filters", "Paths", "Watcher"]

Paths = str | Path | Sequence[str | Path]
Filters = Mapping[str, str | Sequence[str]]


class Client:
    """A workspace in a directory, at an `s3://…` URL or in a packed file. `flags` are settings over all other layers.

    Opening costs nothing until the first call; that and every other call raises a `TychoraError`. Calls from several
    threads at once are safe. As a context manager it closes itself. Writing to a packed file takes it for that time:
    others get `Busy`, and it is replaced as a whole at the end.
    """

    def __init__(self, workspace: str | Path, **flags: Any) -> None:
        self.url = as_place(workspace)
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
        if is_packed(client.url):
            from tychora_format.packed.pack import create

            create(client.url, profile=profile, settings=settings)
        else:
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

                try:
                    self._opened = Workspace.open(self.url)
                except NotFound as error:
                    raise with_similar_names(error, self.url) from error
            return self._opened

    @contextmanager
    def writing(self) -> Iterator[Workspace]:
        """The bundle, for a change. A packed file is taken until the end, and opened anew by the next call."""
        if not is_packed(self.url):
            yield self.workspace
            return
        from tychora_format.packed.rewriting import rewriting

        with rewriting(self.url) as workspace:
            yield workspace
        self.close()

    @property
    def manage(self) -> Upkeep:
        """The upkeep: compact, collect, withdraw, delete and so on, as methods."""
        from tychora_client.upkeep import Upkeep

        return Upkeep(self)

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
        asked: dict[str, Any] = {"collection": collection, "settings": self.settings, "name": name}
        if dry_run:
            return adding.inventory(self.workspace, chosen, progress=progress, **asked)
        with self.writing() as workspace:
            return adding.add(workspace, chosen, progress=progress, **asked)

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

    def prove(self, citation: Citation | Mapping[str, Any] | str, at: str = "main") -> CitationProof:
        """A proof that a quote was evidence in a snapshot; `check_proof` checks it without the workspace.

        A string may be a citation's JSON, a unit's id, or `RUN_ID#CITATION_ID`.
        """
        from tychora_functions.proving import prove

        return prove(self.workspace, citation, at)

    def pack(
        self,
        file: str | Path,
        at: str = "main",
        *,
        history: int | None = None,
        originals: bool = True,
        replace: bool = False,
    ) -> PackReport:
        """Write a snapshot with its history into one file `NAME.tychora`, which is a workspace itself."""
        from tychora_functions.copies.packing import pack

        target = on_this_machine(file)
        return pack(self.workspace, target, at=at, history=history, originals=originals, replace=replace)

    def tag(self, name: str, reference: str = "main") -> TagReport:
        """Let a name stand for a snapshot, for every `at` from then on."""
        from tychora_functions.history.tag import tag

        with self.writing() as workspace:
            return tag(workspace, name, reference)

    def untag(self, name: str) -> TagReport:
        """Forget a tag; its snapshot stays."""
        from tychora_functions.history.tag import untag

        with self.writing() as workspace:
            return untag(workspace, name)

    def difference(self, before: str, after: str = "main", questions: Sequence[str] = ()) -> DifferenceReport:
        """Which sources and units differ between two snapshots, and how the answers to `questions` drift."""
        from tychora_functions.history.comparison import compare

        return compare(self.workspace, before, after, questions)

    def statements(self) -> list[StatementEntry]:
        """The withdrawals, erasures and policies in force, oldest first."""
        from tychora_functions.inspection import statements

        return statements(self.workspace)

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

    def verify(
        self,
        sample: float = 1.0,
        *,
        repair: bool = False,
        other: str | Path | None = None,
        progress: Watcher | None = None,
    ) -> VerifyReport:
        """Check every file that the history reaches, or a `sample` of them from 0 to 1, and all that must hold.

        `repair` makes anew what is derived and damaged, takes what it can from another copy, `other`, and checks
        everything afterwards. A packed file in which something stays damaged is not written: it stays as it is.
        """
        if not repair:
            from tychora_functions.maintain.verify import verify

            return verify(self.workspace, sample=sample, progress=progress)
        from tychora_functions.maintain.repair import repair as repaired

        report: VerifyReport | None = None
        try:
            with self.writing() as workspace:
                report = repaired(workspace, other=None if other is None else as_place(other), progress=progress)
        except CorruptWorkspace:
            if report is None or report.ok:
                raise
            report.repaired = []
        return report


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
