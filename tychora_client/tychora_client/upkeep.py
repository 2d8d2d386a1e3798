"""The upkeep of a workspace, as methods: what `tychora manage WORKSPACE …` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tychora_functions.progress import Watcher
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

if TYPE_CHECKING:
    from tychora_client.client import Client

__all__ = ["Rule", "Upkeep"]

Rule = Literal["access", "classification", "retention"]


class Upkeep:
    """Got from a client as `client.manage`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def compact(self, progress: Watcher | None = None) -> CompactReport:
        """Index the batches of the newest snapshot anew as one: the same answers, faster."""
        from tychora_functions.maintain.compact import compact

        with self._client.writing() as workspace:
            return compact(workspace, progress=progress)

    def collect(
        self,
        *,
        dry_run: bool = False,
        grace_hours: float = 24.0,
        history: int | None = None,
        progress: Watcher | None = None,
    ) -> CollectReport:
        """Remove files that no kept snapshot reaches and that are older than `grace_hours`.

        With `history` only so many states before the newest are kept, and those that are tagged.
        """
        from tychora_functions.maintain.collect import collect

        with self._client.writing() as workspace:
            return collect(workspace, dry_run=dry_run, grace_hours=grace_hours, history=history, progress=progress)

    def withdraw(self, target: str, reason: str = "") -> StatementReport:
        """Hide a source, a revision or an original at once, in every answer and from every snapshot."""
        from tychora_functions.maintain.withdraw import withdraw

        with self._client.writing() as workspace:
            return withdraw(workspace, target, reason)

    def restore(self, target: str) -> StatementReport:
        """Show again what was withdrawn."""
        from tychora_functions.maintain.withdraw import restore

        with self._client.writing() as workspace:
            return restore(workspace, target)

    def delete(self, target: str, reason: str = "") -> ErasureReport:
        """Erase a source, a revision or an original for good: hidden at once, its bytes go with the next collection."""
        from tychora_functions.maintain.erase import erase

        with self._client.writing() as workspace:
            return erase(workspace, target, reason)

    def policies(self) -> list[PolicyEntry]:
        """The policies in force, oldest first."""
        from tychora_functions.maintain.policy import policies

        return policies(self._client.workspace)

    def set_policy(
        self,
        rule: Rule,
        value: str | int | None,
        *,
        collection: str | None = None,
        source: str | None = None,
        principal: str | None = None,
        reason: str = "",
    ) -> StatementReport:
        """Set a rule on a collection or a source: days for `retention`, a word for `classification`.

        For `access` the value is `grant` or `revoke`, and `principal` is `user:NAME`, `group:NAME` or `*`. None lifts
        the rule.
        """
        from tychora_functions.maintain.policy import set_policy

        about = {"collection": collection, "source": source, "principal": principal}
        with self._client.writing() as workspace:
            return set_policy(workspace, rule, value, **about, reason=reason)

    def expire(self, *, dry_run: bool = False) -> ExpiryReport:
        """Erase what the retention policies say is to be kept no longer."""
        from tychora_functions.maintain.expire import expire

        with self._client.writing() as workspace:
            return expire(workspace, dry_run=dry_run)

    def rollback(self, reference: str) -> RollbackReport:
        """Commit a new snapshot that holds what an old one held."""
        from tychora_functions.history.rollback import rollback

        with self._client.writing() as workspace:
            return rollback(workspace, reference)

    def upgrade(self) -> UpgradeReport:
        """Bring the workspace to the newest format; older versions of Tychora refuse it from then on."""
        from tychora_functions.maintain.upgrade import upgrade

        with self._client.writing() as workspace:
            return upgrade(workspace)
