"""Parses one content: bytes of a known format become an extraction, or a typed error says why not."""

from __future__ import annotations

from tychora_format.extraction import Extraction
from tychora_functions.parse.chunks import chunk_units
from tychora_functions.parse.formats import fingerprint, parser_of
from tychora_functions.tokens import count_tokens
from tychora_schemas.errors import MalformedContent
from tychora_schemas.identity import content_sha256
from tychora_schemas.settings import ResolvedSettings

__all__ = ["parse"]


def parse(data: bytes, name: str, format_name: str, settings: ResolvedSettings) -> Extraction:
    """What this version makes of `data`, a file called `name`, in the format `format_name`.

    The same bytes, name, format and settings give the same extraction. Raises UnsupportedContent or MalformedContent;
    a file in which there is nothing to cite is malformed, so that it cannot go missing in silence.
    """
    if not data:
        raise MalformedContent("the file is empty", next_step="nothing to do, unless it should not be")
    document = parser_of(format_name).parse(data, name)
    chunks = chunk_units(
        [unit for unit in document.units if unit.text],
        count_tokens,
        settings.settings.chunk_target_tokens,
        settings.settings.chunk_ceiling_tokens,
    )
    extraction = Extraction.build(
        list(chunks),
        content_sha256=content_sha256(data),
        fingerprint=fingerprint(format_name, settings),
        parser=format_name,
        kind=document.kind,
        language=document.language,
        title=document.title,
        warnings=document.warnings,
    )
    if not extraction.chunks.num_rows:
        raise MalformedContent(
            "; ".join(["it holds no text", *document.warnings]),
            next_step="nothing to do, unless it should hold some",
        )
    return extraction
