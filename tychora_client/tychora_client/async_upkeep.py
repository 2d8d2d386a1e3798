"""The same upkeep for programs that await."""

from __future__ import annotations

import asyncio

from tychora_client.client import Client, Watcher
from tychora_client.upkeep import Rule
from tychora_schemas.maintenance import (
    CollectReport,
    CompactReport,
    ErasureReport,
    ExpiryReport,
    PolicyEntry,
    RollbackReport,
    StatementReport,
    UpgradeReport,
)

__all__ = ["AsyncUpkeep"]


class AsyncUpkeep:
    """`Upkeep`, awaitable: the same methods, arguments, results and errors."""

    def __init__(self, client: Client) -> None:
        self._upkeep = client.manage

    async def compact(self, progress: Watcher | None = None) -> CompactReport:
        """See `Upkeep.compact`."""
        return await asyncio.to_thread(self._upkeep.compact, progress)

    async def collect(
        self,
        *,
        dry_run: bool = False,
        grace_hours: float = 24.0,
        history: int | None = None,
        progress: Watcher | None = None,
    ) -> CollectReport:
        """See `Upkeep.collect`."""
        return await asyncio.to_thread(
            self._upkeep.collect, dry_run=dry_run, grace_hours=grace_hours, history=history, progress=progress
        )

    async def withdraw(self, target: str, reason: str = "") -> StatementReport:
        """See `Upkeep.withdraw`."""
        return await asyncio.to_thread(self._upkeep.withdraw, target, reason)

    async def restore(self, target: str) -> StatementReport:
        """See `Upkeep.restore`."""
        return await asyncio.to_thread(self._upkeep.restore, target)

    async def delete(self, target: str, reason: str = "") -> ErasureReport:
        """See `Upkeep.delete`."""
        return await asyncio.to_thread(self._upkeep.delete, target, reason)

    async def policies(self) -> list[PolicyEntry]:
        """See `Upkeep.policies`."""
        return await asyncio.to_thread(self._upkeep.policies)

    async def set_policy(
        self,
        rule: Rule,
        value: str | int | None,
        *,
        collection: str | None = None,
        source: str | None = None,
        principal: str | None = None,
        reason: str = "",
    ) -> StatementReport:
        """See `Upkeep.set_policy`."""
        return await asyncio.to_thread(
            self._upkeep.set_policy,
            rule,
            value,
            collection=collection,
            source=source,
            principal=principal,
            reason=reason,
        )

    async def expire(self, *, dry_run: bool = False) -> ExpiryReport:
        """See `Upkeep.expire`."""
        return await asyncio.to_thread(self._upkeep.expire, dry_run=dry_run)

    async def rollback(self, reference: str) -> RollbackReport:
        """See `Upkeep.rollback`."""
        return await asyncio.to_thread(self._upkeep.rollback, reference)

    async def upgrade(self) -> UpgradeReport:
        """See `Upkeep.upgrade`."""
        return await asyncio.to_thread(self._upkeep.upgrade)
