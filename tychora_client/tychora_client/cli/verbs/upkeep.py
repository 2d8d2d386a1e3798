"""The upkeep of a workspace: what each action of `manage` does."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial

from tychora_client.cli.output import Outcome, write
from tychora_client.cli.verbs.base import client_of, shown
from tychora_client.progress import ProgressLine
from tychora_client.render import upkeep as render
from tychora_client.render.safe import safe_line
from tychora_client.upkeep import Upkeep
from tychora_schemas.errors import InvalidRequest

__all__ = ["manage"]


def manage(options: Namespace, machine: bool) -> Outcome:
    """Run the action."""
    with client_of(options) as client:
        return ACTIONS[options.action](client.manage, options, machine)


def _compact(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    line = ProgressLine(sys.stderr)
    try:
        report = upkeep.compact(progress=line)
    finally:
        line.close()
    return shown(report, machine, render.compacted)


def _collect(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    line = ProgressLine(sys.stderr)
    try:
        report = upkeep.collect(
            dry_run=options.dry_run, grace_hours=options.grace_hours, history=options.history, progress=line
        )
    finally:
        line.close()
    return shown(report, machine, render.collected)


def _withdraw(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    return shown(upkeep.withdraw(options.target, options.reason), machine, render.stated)


def _restore(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    return shown(upkeep.restore(options.target), machine, render.stated)


def _delete(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    if not options.yes:
        _confirm(f"erase {options.target} for good, here and on every copy that is synced from here?")
    text = partial(render.erased, workspace=options.workspace)
    return shown(upkeep.delete(options.target, options.reason), machine, text)


def _confirm(question: str) -> None:
    """Ask on a terminal. Raises InvalidRequest where the answer is not yes, or nobody can be asked."""
    if sys.stdin is not None and sys.stdin.isatty():
        write(sys.stderr, f"{safe_line(question)} [y/N] ")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise InvalidRequest("nothing was erased", next_step="answer y to erase it")
    raise InvalidRequest("an erasure cannot be undone, and nobody can be asked here", next_step="add --yes")


def _policy(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    about = {"collection": options.collection, "source": options.source, "reason": options.reason}
    if options.retain_days is not None:
        report = upkeep.set_policy("retention", options.retain_days, **about)
    elif options.classification is not None:
        report = upkeep.set_policy("classification", options.classification, **about)
    elif options.grant is not None:
        report = upkeep.set_policy("access", "grant", principal=options.grant, **about)
    elif options.revoke is not None:
        report = upkeep.set_policy("access", "revoke", principal=options.revoke, **about)
    elif options.lift in ("retention", "classification"):
        report = upkeep.set_policy(options.lift, None, **about)
    elif options.lift is not None:
        report = upkeep.set_policy("access", None, principal=options.lift, **about)
    elif any(about.values()):
        raise InvalidRequest("no rule was named", next_step="add --retain-days, --classification, --grant or --revoke")
    else:
        return shown(upkeep.policies(), machine, render.policies)
    return shown(report, machine, render.stated)


def _expire(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    return shown(upkeep.expire(dry_run=options.dry_run), machine, render.expired)


def _rollback(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    return shown(upkeep.rollback(options.reference), machine, render.rolled_back)


def _upgrade(upkeep: Upkeep, options: Namespace, machine: bool) -> Outcome:
    return shown(upkeep.upgrade(), machine, render.upgraded)


ACTIONS: dict[str, Callable[[Upkeep, Namespace, bool], Outcome]] = {
    "compact": _compact,
    "collect": _collect,
    "withdraw": _withdraw,
    "restore": _restore,
    "delete": _delete,
    "policy": _policy,
    "expire": _expire,
    "rollback": _rollback,
    "upgrade": _upgrade,
}
