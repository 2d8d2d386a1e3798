"""A short tour: make a workspace, fill it, ask it questions of several kinds.

    python docs/demo.py [WORKSPACE]

Uses what every program may use: `Client`, its typed results, and the renderer of the command line.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from tychora_client import Client
from tychora_client.cli.output import prepare
from tychora_client.progress import ProgressLine
from tychora_client.render.ansi import Style
from tychora_client.render.text import text
from tychora_schemas.errors import Conflict
from tychora_schemas.receipts import AddReport
from tychora_schemas.result import Citation, QueryResult

__all__ = ["QUESTIONS", "ROOTS", "Question", "fill", "main"]

CHECKOUT = Path(__file__).resolve().parents[1]

ROOTS = [
    CHECKOUT / "tests/data/demo/documents",
    *(CHECKOUT / folder for folder in ("schemas", "workspace_format", "functions", "tychora_client")),
]
"""What the demo reads: public documents, and the source of Tychora itself."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what it shows."""

    kind: str
    text: str


QUESTIONS = [
    Question(
        "a fact on a page of a two-column paper",
        "How many passages of Wikipedia does dense passage retrieval index?",
    ),
    Question(
        "a row of a table, by its identifier",
        "What shall the cFE do upon receipt of an invalid command (cES1003)?",
    ),
    Question("a numbered section, in German", "Wann muss ein Datenschutzbeauftragter nach § 38 BDSG benannt werden?"),
    Question("a statute, in Chinese", "个人信息保护法规定情节严重时最高罚款是多少？"),
    Question("code", "Which function computes an id from a domain tag and canonical JSON?"),
    Question("what none of the sources says", "What is CVE-2021-44228 (Log4Shell)?"),
]


def main(workspace: str = "demo-workspace") -> None:
    """Give the whole tour on the terminal. Running it again syncs the workspace and asks again."""
    prepare(sys.stdout, sys.stderr)
    style = Style.of(sys.stdout)
    with opened(workspace) as client:
        report = fill(client)
        print(style("bold", filled(report, workspace)))
        for number, question in enumerate(QUESTIONS, start=1):
            result = client.search(question.text, k=1)
            print("\n" + style("dim", f"── {number}. {question.kind} ".ljust(style.columns, "─")))
            print(style("cyan", "$ " + shlex.join(["tychora", "search", workspace, question.text, "-k", "1"])) + "\n")
            print(text(result, style), end="")
            if result.coverage.verdict != "none":
                print(style("green", checked(client, result)))
    print("\n" + style("bold", "Now ask your own: ") + f'{command()} search {shlex.quote(workspace)} "…"')


def opened(workspace: str) -> Client:
    """The workspace, made if it is not there yet."""
    try:
        return Client.create(workspace)
    except Conflict:
        return Client(workspace)


def fill(client: Client) -> AddReport:
    """Add the demo's documents and code, or sync them when they were added before."""
    progress = ProgressLine(sys.stderr)
    try:
        return client.add(ROOTS, progress=progress)
    finally:
        progress.close()


def filled(report: AddReport, workspace: str) -> str:
    """What the workspace holds now, in one line."""
    read = len(report.added) + len(report.changed)
    held = read + len(report.unchanged) + len(report.moved)
    return f"{workspace} holds {held} documents and source files ({read} read in {report.seconds:.0f} s)"


def checked(client: Client, result: QueryResult) -> str:
    """How many of the quotes stand in the retained originals, read once more, and where on its page the first is."""
    held = sum(client.verify_citation(citation).holds for citation in result.citations)
    place = box(result.citations[0]) if result.citations else ""
    return f"✓ {held} of {len(result.citations)} quotes re-read in the retained original{place}"


def box(citation: Citation) -> str:
    """The rectangle around the quote on its first page, in points from the top left; "" for what has no pages."""
    boxes = [each for each in citation.locator.boxes or () if each.page == citation.locator.page]
    if not boxes:
        return ""
    left, top = min(each.x0 for each in boxes), min(each.y0 for each in boxes)
    right, bottom = max(each.x1 for each in boxes), max(each.y1 for each in boxes)
    return f", page {boxes[0].page} from ({left:.0f}, {top:.0f}) to ({right:.0f}, {bottom:.0f}) points"


def command() -> str:
    """How to call `tychora` from here."""
    script = Path(sys.executable).with_name("tychora")
    return str(script.relative_to(Path.cwd())) if script.is_relative_to(Path.cwd()) else "tychora"


if __name__ == "__main__":
    main(*sys.argv[1:2])
