"""What the pages show is what happens: their sessions are run, their links followed, their tables made again."""

from __future__ import annotations

import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tychora_schemas.settings import ENVIRONMENT_PREFIX, MACHINE_VARIABLES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if not {"decisions", "examples"} & {*path.parts}),
]
FOLDERS = (
    "schemas",
    "workspace_format",
    "functions",
    "tychora_client",
    "deploy",
    "benchmarks",
    "tests",
    "docs/decisions",
)
ALL_PAGES = sorted({*PAGES, *ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))})

BUCKET = "s3://my-bucket"
"""What the pages call a bucket; the tests put one of their own in its place."""

COLUMNS = "90"
BLOCK = re.compile(r"^(`{3,})(console|python)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
SHELL = re.compile(r"[|<>;&$`*]")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a console block, or a whole Python block, and what the page shows after it."""

    kind: str
    source: str
    shown: str
    line: int


def steps(text: str) -> Iterator[Step]:
    """The steps of a page, in order. A command begins with `$ ` and goes on in lines that begin with `> `."""
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(3)) + 1
        if block[2] == "python":
            yield Step("python", block[3], "", line)
            continue
        for command in re.finditer(r"^\$ (.*\n(?:> .*\n|>\n)*)((?:(?!\$ ).*\n)*)", block[3], re.MULTILINE):
            source = re.sub(r"^> ?", "", command[1], flags=re.MULTILINE).rstrip("\n")
            yield Step("console", source, command[2], line + block[3].count("\n", 0, command.start()))


def matches(shown: str, happened: str) -> bool:
    """Whether a page tells the truth: `…` stands for anything within a line, and alone on a line for any lines."""
    lines = [line.rstrip() for line in shown.rstrip().splitlines()]
    parts = [
        r"(?:[^\n]*\n)*?" if line.strip() == "…" else "[^\n]*".join(map(re.escape, line.split("…"))) + "\n"
        for line in lines
    ]
    printed = "".join(f"{line.rstrip()}\n" for line in happened.rstrip().splitlines())
    return re.fullmatch("".join(parts), printed) is not None


class Terminal(io.StringIO):
    """A terminal as the command line sees one."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Truth(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return matches(want, got)


class Reader:
    """Somebody who types what a page shows, in a folder that looks like a checkout."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = places
        self.code = 0
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def follow(self, step: Step) -> str:
        """Take a step and return what it printed; failed sessions of Python say how."""
        source = step.source
        for shown, real in self.places.items():
            source = source.replace(shown, real)
        printed = self._python(source) if step.kind == "python" else self._command(source)
        for shown, real in self.places.items():
            printed = printed.replace(real, shown)
        return printed

    def _command(self, source: str) -> str:
        if source == "echo $?":
            told, self.code = self.code, 0
            return f"{told}\n"
        if source.startswith("tychora ") and not SHELL.search(re.sub("'[^']*'", "", source)):
            return self._tychora(source)
        done = subprocess.run(["bash", "-c", source], capture_output=True, encoding="utf-8", timeout=120)
        self.code = done.returncode
        return done.stdout + done.stderr

    def _tychora(self, source: str) -> str:
        """Run inside this process, which saves a second for each command."""
        from tychora_client.cli import main

        out, err = Terminal(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                self.code = main(shlex.split(source)[1:])
            except SystemExit as leaving:  # how argparse ends after --help
                self.code = int(leaving.code or 0)
        told = re.sub(r"^(looking|reading|indexing|committing|checking): .*\n", "", err.getvalue(), flags=re.MULTILINE)
        return out.getvalue() + told

    def _python(self, source: str) -> str:
        if ">>> " not in source:
            exec(compile(source, "page", "exec"), self.names)
            return ""
        report: list[str] = []
        runner = doctest.DocTestRunner(checker=Truth(), verbose=False)
        test = doctest.DocTestParser().get_doctest(source, self.names, "page", "page", 0)
        runner.run(test, out=report.append, clear_globs=False)
        self.names.update(test.globs)
        return "".join(report)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages read of a checkout, and the surroundings that they assume."""
    for name in [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX) and name not in MACHINE_VARIABLES]:
        monkeypatch.delenv(name)
    for name, value in {"NO_COLOR": "1", "COLUMNS": COLUMNS, "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    folder = tmp_path / "checkout"
    shutil.copytree(DOCS / "examples", folder / "docs/examples")
    (folder / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))], ids=named)
def test_what_a_page_shows_is_what_happens(page: Path, checkout: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text("utf-8")
    places = {BUCKET: request.getfixturevalue("s3_url")} if f"{BUCKET}/" in text else {}
    reader = Reader(places)
    followed = list(steps(text))
    for step, after in zip(followed, [*followed[1:], None], strict=True):
        happened = reader.follow(step)
        where = f"{named(page)}:{step.line}: {step.source}"
        assert matches(step.shown, happened), f"{where}\n--- shown\n{step.shown}\n--- happened\n{happened}"
        told = "error:" in step.shown or (after is not None and after.source == "echo $?")
        assert reader.code == 0 or told, f"{where}\nended with {reader.code}, and the page does not say so"


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings, spelled as the usual renderers do."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL_PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{named(page)} links to {target}"
        assert not anchor or anchor in anchors(place), f"{named(page)} links to {target}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        targets = (target.partition("#")[0] for target in LINK.findall(page.read_text("utf-8")))
        waiting += [(page.parent / target).resolve() for target in targets if target and ":" not in target]
    assert set(PAGES) <= reached


def test_every_test_and_benchmark_that_a_page_names_exists() -> None:
    tests = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for page in PAGES:
        for name in re.findall(r"`(test_\w+)`", page.read_text("utf-8")):
            assert f"def {name}(" in tests, f"{named(page)} names {name}"
        for name in re.findall(r"`((?:tests|benchmarks)/[\w/.-]+)`", page.read_text("utf-8")):
            assert (ROOT / name).exists(), f"{named(page)} names {name}"


def reference() -> ModuleType:
    """The script that writes the generated parts."""
    specification = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_generated_parts_are_current(page: Path) -> None:
    """`python docs/reference.py` writes them."""
    text = page.read_text("utf-8")
    assert reference().renewed(text) == text


@pytest.mark.parametrize(
    ("shown", "happened", "fits"),
    [
        ("a … c\n", "a b c\n", True),
        ("a … c\n", "a b\nc\n", False),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", True),
        ("a\n", "a\nb\n", False),
        ("", "a\n", False),
        ("1.5 (x)\n", "1.5 (x)  \n", True),
    ],
)
def test_the_matcher_lets_nothing_else_pass(shown: str, happened: str, fits: bool) -> None:
    assert matches(shown, happened) is fits
