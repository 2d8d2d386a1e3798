"""Where in its source a piece of evidence stands."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

__all__ = ["Box", "Locator"]

Points = Annotated[float, Field(description="PDF points from the top left corner of the page as displayed")]


class Box(BaseModel):
    """A rectangle on one displayed page (rotation applied), in points from the top left; `x0 <= x1`, `y0 <= y1`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: int = Field(ge=1)
    x0: Points
    y0: Points
    x1: Points
    y1: Points


class Locator(BaseModel):
    """The place of a quote; only the fields that apply to the source's format are set.

    `bytes` is given only where the quote is literally those bytes of the original file, decoded with `encoding`.
    Where the format escapes or encodes its text, `transform` names how (`html`, `docx`, …) and `bytes` is absent.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: int | None = Field(None, ge=1, description="1-based index of the page in the file")
    page_label: str | None = Field(None, description="the page number as printed or declared, where it differs")
    boxes: tuple[Box, ...] | None = Field(None, description="one box per line of the quote")
    lines: tuple[int, int] | None = Field(None, description="first and last line, 1-based, both included")
    bytes: tuple[int, int] | None = Field(None, description="byte range [start, end) of the original file")
    encoding: str | None = Field(None, description="how those bytes decode, where it is not UTF-8")
    slide: int | None = Field(None, ge=1)
    sheet: str | None = None
    cells: str | None = Field(None, description='cell range such as "B2:D4"')
    part: str | None = Field(None, description="the part inside a packaged file, e.g. word/footnotes.xml")
    path: str | None = Field(None, description="structural path, e.g. body/p[12] or $.items[3]; a..b for a run")
    characters: tuple[int, int] | None = Field(
        None,
        description="character range [start, end) within the text at `path`, where the quote is a part of it",
    )
    transform: str | None = Field(None, description="how the quote was decoded from the file, where it is not literal")
    derived: bool | None = Field(None, description="true where the text was recognised, not read")

    @model_serializer(mode="wrap")
    def _set_fields(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only the fields that apply: a reader asks what is there, and an agent pays for every token."""
        return {name: value for name, value in handler(self).items() if value is not None}
