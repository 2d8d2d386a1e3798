"""The job of an add: capture → parse → embed → publish over many files, and a report on every path.

A job is safe to kill at any point and to run again: what was committed is found unchanged, the rest is done then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt

from tychora_format.batch import Embedding, Parsed
from tychora_format.extraction import Extraction, input_sha256
from tychora_format.objects import object_path
from tychora_format.snapshot import LiveSource, Snapshot
from tychora_format.staging import Staged
from tychora_format.tables import SourceRow, SourceState
from tychora_format.workspace import Workspace
from tychora_functions.capture.capture import Captured, capture
from tychora_functions.embed.embed import embed
from tychora_functions.interrupt import Interrupt
from tychora_functions.parse.detect import Format, detect
from tychora_functions.parse.formats import fingerprint, limited
from tychora_functions.parse.worker import Answer, Task
from tychora_functions.parse.workers import WorkerPool
from tychora_functions.plan import Found, Plan, Refused, revision_identity
from tychora_functions.progress import Progress, Stage, Watcher
from tychora_functions.publish import Change, publish
from tychora_schemas.errors import BudgetExceeded
from tychora_schemas.receipts import AddReport, NamedPath, PathReport
from tychora_schemas.settings import ResolvedSettings

__all__ = ["Job", "Watcher"]

AHEAD = 2_000
"""Files that may be captured while an earlier one is still being parsed."""

ERASED_STEP = "leave it out of the folder; an erasure is never taken back (tychora inspect WORKSPACE statements)"

Content = tuple[str, str]
"""The SHA-256 of the bytes, and the fingerprint of how they are read."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """A file that was captured and whose turn to be recorded comes when all before it are."""

    found: Found
    captured: Captured
    form: Format
    mark: str

    @property
    def content(self) -> Content:
        """What a parser is asked for, and every file of the same bytes shares."""
        return self.captured.sha256, self.mark

    @property
    def unreadable(self) -> str | None:
        """Why no parser is asked."""
        return self.form.reason if self.captured.size else None


class Job:
    """One run: what is still to be published, what is known, and the report."""

    def __init__(
        self,
        workspace: Workspace,
        head: Snapshot,
        collection: str,
        settings: ResolvedSettings,
        planned: Plan,
        watch: Watcher,
    ) -> None:
        self.workspace = workspace
        self.head = head
        self.collection = collection
        self.settings = settings
        self.plan = planned
        self.watch = watch
        self.staged = Staged(workspace)
        self.report = AddReport(snapshot_id=head.id)
        marks = {fingerprint(each.value, settings) for each in Format}
        self.current = marks | {limited(mark, settings) for mark in marks}
        self.extracted = _extractions(head)
        self.asked: set[Content] = set()
        self.answers: dict[Content, Answer] = {}
        self.reached: deque[_Reached] = deque()
        self.rows: list[SourceRow] = []
        self.parsed: list[Parsed] = []
        self.removed: list[LiveSource] = []
        self.seen: dict[str, tuple[str, int]] = {}
        self.chunks = self.text_bytes = self.done = self.total = 0

    def run(self, interrupt: Interrupt) -> AddReport:
        """Everything the plan asks for; after an interruption, everything that was reached."""
        work = [*self._settled(), *self.plan.new, *self.plan.changed, *self.plan.moved]
        self.total = len(work)
        for refused in self.plan.refused:
            self._refuse(refused)
        self.report.quarantined += [
            PathReport(path=each.path, size=each.size, reason=each.reason, next_step=ERASED_STEP)
            for each in self.plan.erased
        ]
        with WorkerPool(self.settings, len(work)) as pool:
            for answer in pool.run(self._tasks(work, interrupt), stop=lambda: interrupt.asked):
                sha256, mark = answer.key.split(" ")
                self.answers[sha256, mark] = answer
                self._record()
        self.reached = deque(each for each in self.reached if self._decided(each))
        self._record()
        if interrupt.asked:
            self._hold_the_rest(work)
        else:
            self._remove()
        self._publish()
        self._note_withdrawn()
        self.report.skipped = [PathReport(path=path, reason=met.reason) for path, met in self.plan.skipped]
        return self.report

    def _settled(self) -> list[Found]:
        """Report what is as it was; return what has to be read again because its parser changed."""
        again = []
        for found in self.plan.same:
            row = found.before.row if found.before else None
            if row is None or row.fingerprint not in self.current:
                again.append(found)
            elif row.state == "indexed":
                self.report.unchanged.append(PathReport(path=found.path, size=found.size))
            else:
                target = self.report.held if row.state == "held" else self.report.quarantined
                target.append(PathReport(path=found.path, size=found.size, reason=row.reason, next_step=row.next_step))
        return again

    def _tasks(self, work: list[Found], interrupt: Interrupt) -> Iterator[Task | None]:
        """Capture the files in turn, and ask for a parse of each content that is not extracted yet; None to wait."""
        for found, captured in zip(work, capture(self.workspace, (each.location for each in work)), strict=True):
            while len(self.reached) >= AHEAD:
                yield None
            if interrupt.asked:
                return
            self._tell("reading", found.path, captured.size)
            form = detect(captured.head, found.path) if captured.size else Format.PLAIN
            each = _Reached(found, replace(captured, head=b""), form, fingerprint(form.value, self.settings))
            self.reached.append(each)
            if not self._decided(each) and each.content not in self.asked:
                self.asked.add(each.content)
                name = PurePosixPath(found.path).name
                yield Task(f"{captured.sha256} {each.mark}", self._content(captured), name, form.value)
            self._record()

    def _content(self, captured: Captured) -> bytes | Path:
        local = self.workspace.store.local_path(object_path(captured.sha256))
        return local if local is not None else self.workspace.objects.get(captured.sha256)

    def _decided(self, each: _Reached) -> bool:
        """True when it is known what becomes of the file."""
        no_parser = each.captured.error is not None or each.unreadable is not None
        return no_parser or each.content in self.extracted or each.content in self.answers

    def _record(self) -> None:
        """Record what is decided, strictly in the order of the work, and commit whenever enough has been gathered.

        So a batch holds the same however many workers there are and whichever of them is faster.
        """
        while self.reached and self._decided(self.reached[0]):
            self._enter(self.reached.popleft())
            if self._full():
                self._publish()

    def _enter(self, each: _Reached) -> None:
        found, captured = each.found, each.captured
        if captured.error is not None:
            self._refuse(Refused(found.path, found.root, found.size, str(captured.error), found.before))
        elif each.unreadable is not None:
            self._quarantine(found, captured, each.mark, f"it is {each.unreadable}", "")
        elif each.content in self.extracted:
            self._index(found, captured, each.mark, *self.extracted[each.content])
        elif (encoded := self.answers[each.content].extraction) is None:
            kind, reason, step = self.answers[each.content].error or ("", "it could not be read", "")
            passed = kind == BudgetExceeded.__name__
            self._quarantine(found, captured, limited(each.mark, self.settings) if passed else each.mark, reason, step)
        else:
            del self.answers[each.content]
            extraction = Extraction.decode(encoded)
            header, rows = extraction.header, extraction.chunks.num_rows
            self.extracted[each.content] = (header.extraction_id, found.path, list(header.warnings))
            self._index(found, captured, each.mark, *self.extracted[each.content])
            self.parsed.append(Parsed(extraction, self.rows[-1]))
            self.chunks += rows
            self.text_bytes += extraction.chunks.column("text").nbytes
            self.report.chunks += rows

    def _row(
        self,
        found: Found | Refused,
        state: SourceState,
        mark: str,
        captured: Captured | None,
        **values: str | None,
    ) -> SourceRow:
        before = found.before
        source_id = self.plan.source_id(self.collection, found)
        if before:
            self.seen[source_id] = (before.batch, before.number)
        paths = [] if before is None else [path for path in before.row.paths if path != found.path]
        sha256 = captured.sha256 if captured else None
        return SourceRow(
            source_id=source_id,
            collection=self.collection,
            path=found.path,
            paths=[*paths, found.path],
            root=found.root.label,
            revision_id=revision_identity(source_id, sha256) if sha256 else None,
            content_sha256=sha256,
            size=captured.size if captured else found.size,
            state=state,
            reason=values.get("reason"),
            next_step=values.get("next_step"),
            fingerprint=mark,
            extraction_id=values.get("extraction_id"),
        )

    def _index(
        self,
        found: Found,
        captured: Captured,
        mark: str,
        extraction_id: str,
        first_path: str,
        warnings: Sequence[str],
    ) -> None:
        self.rows.append(self._row(found, "indexed", mark, captured, extraction_id=extraction_id))
        entry = PathReport(path=found.path, size=captured.size, warnings=list(warnings))
        if first_path != found.path and not found.moved:
            entry.same_as = first_path
        if found.before is None:
            self.report.added.append(entry)
        elif found.moved:
            self.report.moved.append(entry.model_copy(update={"was": found.before.row.path}))
        else:
            if found.before.row.content_sha256 == captured.sha256:
                entry.reason = "read again: its parser or the settings changed"
            self.report.changed.append(entry)
        self.done += 1

    def _quarantine(self, found: Found, captured: Captured, mark: str, reason: str, step: str) -> None:
        self.rows.append(self._row(found, "quarantined", mark, captured, reason=reason, next_step=step or None))
        self.report.quarantined.append(
            PathReport(path=found.path, size=captured.size, reason=reason, next_step=step or None)
        )
        self.done += 1

    def _refuse(self, refused: Refused) -> None:
        """Record a path that could not be captured; what is live of it stays, since nothing is known of its bytes."""
        step = "put it right, or leave it: every add tries it again"
        entry = PathReport(path=refused.path, size=refused.size, reason=refused.reason, next_step=step)
        self.report.quarantined.append(entry)
        before = refused.before
        if before is None or (before.row.state == "quarantined" and before.row.reason != refused.reason):
            self.rows.append(self._row(refused, "quarantined", "", None, reason=refused.reason, next_step=step))

    def _remove(self) -> None:
        for source in self.plan.gone:
            self.seen[source.row.source_id] = (source.batch, source.number)
            self.removed.append(source)
            self.report.removed.append(PathReport(path=source.row.path))

    def _hold_the_rest(self, work: list[Found]) -> None:
        self.report.interrupted = True
        lists = (self.report.added, self.report.changed, self.report.moved, self.report.quarantined)
        reached = {entry.path for entries in lists for entry in entries}
        reason = "not reached before the interruption; the next add takes it"
        self.report.held += [PathReport(path=each.path, reason=reason) for each in work if each.path not in reached]

    def _note_withdrawn(self) -> None:
        """Say of what is up to date and yet is found by nobody."""
        statements = self.workspace.statements.in_force()
        hidden = self.workspace.head().live_sources(statements.hides, hidden=True) if statements.withdrawn else ()
        paths = {source.row.path for source in hidden if source.row.collection == self.collection}
        for entry in (*self.report.added, *self.report.changed, *self.report.moved, *self.report.unchanged):
            if entry.path in paths:
                entry.warnings.append("it is withdrawn: nobody finds it until it is restored")

    def _full(self) -> bool:
        limits = self.settings.settings
        return self.chunks >= limits.publish_chunks or self.text_bytes >= limits.publish_megabytes << 20

    def _publish(self) -> None:
        """Embed and commit what has been gathered."""
        change = Change(self.rows, self.parsed, self.removed, self.seen)
        if not change:
            return
        self._tell("indexing")
        embeddings = {family: self._embedding(family) for family in self.settings.settings.families}
        self._tell("committing")
        published = publish(self.workspace, change, embeddings, self.staged)
        self.report.snapshot_id = published.snapshot.id
        self.report.conflicts += [NamedPath(path=path, note=note) for path, note in published.conflicts]
        self.rows, self.parsed, self.removed = [], [], []
        self.chunks = self.text_bytes = 0

    def _embedding(self, family: str) -> Embedding:
        """The vectors of everything parsed; what the bundle has embedded before is taken from there."""
        inputs = [text for each in self.parsed for text in each.extraction.embedding_inputs(_stem(each))]
        wanted = {input_sha256(text) for text in inputs}
        known: dict[bytes, npt.NDArray[np.float16]] = {}
        for batch in self.workspace.head().batches if inputs else ():
            known |= batch.ledger(family, wanted)
        return embed(inputs, family, known)

    def _tell(self, stage: Stage, path: str | None = None, size: int = 0) -> None:
        self.report.bytes_read += size
        self.watch(Progress(stage, self.done, self.total, self.report.bytes_read, path))


def _stem(parsed: Parsed) -> str:
    return PurePosixPath(parsed.source.path).stem


def _extractions(head: Snapshot) -> dict[Content, tuple[str, str, list[str]]]:
    """Content → the extraction that the bundle has of it, a path it is known by, and its warnings."""
    paths = dict(
        zip(
            head.recorded.column("extraction_id").to_pylist(),
            head.recorded.column("path").to_pylist(),
            strict=True,
        )
    )
    known = {}
    for batch in head.batches:
        columns = (
            batch.extractions.column(name).to_pylist()
            for name in ("content_sha256", "fingerprint", "extraction_id", "warnings")
        )
        for content, mark, extraction_id, warnings in zip(*columns, strict=True):
            known[content, mark] = (extraction_id, paths.get(extraction_id, ""), warnings)
    return known
