"""The same client for programs that await: each call runs in a thread, so several may be under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, overload

from tychora_client.async_upkeep import AsyncUpkeep
from tychora_client.client import Client, Filters, Paths, Watcher
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
from tychora_schemas.requests import Channel, Fusion
from tychora_schemas.result import Citation, QueryResult
from tychora_schemas.transport import PackReport

__all__ = ["AsyncClient"]


class AsyncClient:
    """`Client`, awaitable: the same methods, arguments, results and errors.

    Cancelling an awaited call stops the waiting; work in its thread goes on to its end. A `progress` callback is
    called in that thread.
    """

    def __init__(self, workspace: str | Path, **flags: Any) -> None:
        self.client = Client(workspace, **flags)

    @classmethod
    async def create(
        cls, workspace: str | Path, profile: str = "documents", settings: Mapping[str, Any] | None = None
    ) -> AsyncClient:
        """See `Client.create`."""
        created = cls(workspace)
        created.client = await asyncio.to_thread(Client.create, workspace, profile, settings)
        return created

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def manage(self) -> AsyncUpkeep:
        """See `Client.manage`; its methods are awaited."""
        return AsyncUpkeep(self.client)

    async def close(self) -> None:
        """See `Client.close`."""
        await asyncio.to_thread(self.client.close)

    @overload
    async def add(
        self,
        paths: Paths,
        collection: str = "default",
        *,
        dry_run: Literal[False] = False,
        name: str | None = None,
        progress: Watcher | None = None,
    ) -> AddReport: ...

    @overload
    async def add(
        self,
        paths: Paths,
        collection: str = "default",
        *,
        dry_run: Literal[True],
        name: str | None = None,
        progress: Watcher | None = None,
    ) -> InventoryReport: ...

    async def add(
        self,
        paths: Paths,
        collection: str = "default",
        *,
        dry_run: bool = False,
        name: str | None = None,
        progress: Watcher | None = None,
    ) -> AddReport | InventoryReport:
        """See `Client.add`."""

        def run() -> AddReport | InventoryReport:
            if dry_run:
                return self.client.add(paths, collection, dry_run=True, name=name, progress=progress)
            return self.client.add(paths, collection, name=name, progress=progress)

        return await asyncio.to_thread(run)

    async def search(
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
        """See `Client.search`."""
        return await asyncio.to_thread(
            self.client.search,
            question,
            k,
            at=at,
            filters=filters,
            budget_tokens=budget_tokens,
            segment_tokens=segment_tokens,
            channels=channels,
            fusion=fusion,
            context=context,
            trace=trace,
            strict=strict,
        )

    async def replay(self, run_id: str) -> QueryResult:
        """See `Client.replay`."""
        return await asyncio.to_thread(self.client.replay, run_id)

    async def evidence(self, id: str, at: str = "main") -> UnitEvidence | SourceEvidence | SnapshotEvidence:
        """See `Client.evidence`."""
        return await asyncio.to_thread(self.client.evidence, id, at)

    async def verify_citation(self, citation: Citation | Mapping[str, Any]) -> CitationCheck:
        """See `Client.verify_citation`."""
        return await asyncio.to_thread(self.client.verify_citation, citation)

    async def sources(
        self, collection: str | None = None, state: str | None = None, at: str = "main"
    ) -> list[SourceEntry]:
        """See `Client.sources`."""
        return await asyncio.to_thread(self.client.sources, collection, state, at)

    async def log(self) -> list[HistoryEntry]:
        """See `Client.log`."""
        return await asyncio.to_thread(self.client.log)

    async def inspect(self) -> WorkspaceOverview:
        """See `Client.inspect`."""
        return await asyncio.to_thread(self.client.inspect)

    async def configuration(self) -> list[ConfigurationEntry]:
        """See `Client.configuration`."""
        return await asyncio.to_thread(self.client.configuration)

    async def jobs(self) -> list[JobEntry]:
        """See `Client.jobs`."""
        return await asyncio.to_thread(self.client.jobs)

    async def prove(self, citation: Citation | Mapping[str, Any] | str, at: str = "main") -> CitationProof:
        """See `Client.prove`."""
        return await asyncio.to_thread(self.client.prove, citation, at)

    async def pack(
        self,
        file: str | Path,
        at: str = "main",
        *,
        history: int | None = None,
        originals: bool = True,
        replace: bool = False,
    ) -> PackReport:
        """See `Client.pack`."""
        return await asyncio.to_thread(
            self.client.pack, file, at, history=history, originals=originals, replace=replace
        )

    async def tag(self, name: str, reference: str = "main") -> TagReport:
        """See `Client.tag`."""
        return await asyncio.to_thread(self.client.tag, name, reference)

    async def untag(self, name: str) -> TagReport:
        """See `Client.untag`."""
        return await asyncio.to_thread(self.client.untag, name)

    async def difference(self, before: str, after: str = "main", questions: Sequence[str] = ()) -> DifferenceReport:
        """See `Client.difference`."""
        return await asyncio.to_thread(self.client.difference, before, after, questions)

    async def statements(self) -> list[StatementEntry]:
        """See `Client.statements`."""
        return await asyncio.to_thread(self.client.statements)

    async def verify(
        self,
        sample: float = 1.0,
        *,
        repair: bool = False,
        other: str | Path | None = None,
        progress: Watcher | None = None,
    ) -> VerifyReport:
        """See `Client.verify`."""
        return await asyncio.to_thread(self.client.verify, sample, repair=repair, other=other, progress=progress)
