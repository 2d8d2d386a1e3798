"""Settings: what can be configured, and from which layer each value came.

Layers, later ones win: defaults < profile < workspace (`tychora.json`) < environment (`TYCHORA_*`) < flags. A key that
no layer knows is refused, and the error names the layer it stood in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tychora_schemas.errors import InvalidRequest
from tychora_schemas.identity import digest

__all__ = ["ENVIRONMENT_PREFIX", "PROFILES", "ResolvedSettings", "Settings", "resolve_settings"]

ENVIRONMENT_PREFIX = "TYCHORA_"
MACHINE_VARIABLES = frozenset({"TYCHORA_CACHE", "TYCHORA_CACHE_LIMIT", "TYCHORA_STATE"})
"""Variables about the machine, not about what is made; they are no settings."""

Profile = Literal["documents", "code", "verified"]


class Settings(BaseModel):
    """Every setting with its default. Sizes of text are tokens of the default family's tokenizer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chunk_target_tokens: int = Field(512, ge=16, le=8_000, description="size a chunk grows to, headings permitting")
    chunk_ceiling_tokens: int = Field(800, ge=16, le=8_000, description="size no chunk exceeds")
    families: tuple[str, ...] = Field(("wordllama-256",), description="vector spaces to embed into; may be empty")
    capture_maximum_bytes: int = Field(1 << 30, ge=1, description="larger files are quarantined, not captured")
    capture_hidden: bool = Field(False, description="also take files and folders whose name starts with a dot")
    capture_ignore_files: bool = Field(True, description="honour .gitignore files in the tree")
    parse_workers: int = Field(0, ge=0, le=256, description="worker processes; 0 means one per processor")
    parse_seconds: float = Field(120.0, gt=0, description="a worker that reads one file for longer is ended")
    parse_memory_megabytes: int = Field(1_024, ge=64, description="a worker that takes more is ended")
    publish_chunks: int = Field(20_000, ge=1, description="chunks after which a run commits what it has")
    publish_megabytes: int = Field(48, ge=1, description="megabytes of text after which a run commits what it has")
    query_fusion: Literal["convex", "rrf"] = "convex"
    query_budget_tokens: int = Field(6_000, ge=1)


PROFILES: dict[str, dict[str, Any]] = {
    "documents": {},
    "code": {"chunk_target_tokens": 384},
    "verified": {},
}
"""What a profile sets. A profile is chosen at `init` and stays with the workspace."""

EXTRACTION_SETTINGS = ("chunk_target_tokens", "chunk_ceiling_tokens")


@dataclass(frozen=True, slots=True)
class ResolvedSettings:
    """The settings in force, and for each the layer that gave it."""

    settings: Settings
    origins: dict[str, str]

    def extraction_fingerprint(self) -> str:
        """Changes exactly when a setting changes that alters what parse makes of a file."""
        values = {name: getattr(self.settings, name) for name in EXTRACTION_SETTINGS}
        return digest("extraction-settings-v1", values).hex()


def resolve_settings(
    profile: str = "documents",
    workspace: Mapping[str, Any] | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> ResolvedSettings:
    """Lay the layers over each other. Raises InvalidRequest naming the key, its value and its layer."""
    if profile not in PROFILES:
        raise InvalidRequest(f"there is no profile {profile!r}", next_step=f"use one of: {', '.join(PROFILES)}")
    surroundings = os.environ if environment is None else environment
    named = {
        name: value
        for name, value in surroundings.items()
        if name.startswith(ENVIRONMENT_PREFIX) and name not in MACHINE_VARIABLES
    }
    layers: list[tuple[str, Mapping[str, Any]]] = [
        (f"profile {profile}", PROFILES[profile]),
        ("workspace", workspace or {}),
        *((f"environment {name}", {_key(name): _value(value)}) for name, value in sorted(named.items())),
        ("flags", flags or {}),
    ]
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for layer, given in layers:
        for key, value in given.items():
            if key not in Settings.model_fields:
                raise InvalidRequest(
                    f"unknown setting {key!r} in {layer}",
                    next_step=f"known: {', '.join(Settings.model_fields)}",
                )
            try:
                Settings(**{key: value})
            except ValidationError as error:
                problem = error.errors()[0]["msg"]
                raise InvalidRequest(
                    f"{key} = {value!r} in {layer} is not possible: {problem}",
                    next_step=Settings.model_fields[key].description or "choose another value",
                ) from error
            values[key] = value
            origins[key] = layer
    settings = Settings(**values)
    if settings.chunk_ceiling_tokens < settings.chunk_target_tokens:
        raise InvalidRequest(
            f"chunk_ceiling_tokens ({settings.chunk_ceiling_tokens}, from {origins['chunk_ceiling_tokens']}) is below "
            f"chunk_target_tokens ({settings.chunk_target_tokens}, from {origins['chunk_target_tokens']})",
            next_step="raise the ceiling or lower the target",
        )
    return ResolvedSettings(settings, origins)


def _key(variable: str) -> str:
    return variable.removeprefix(ENVIRONMENT_PREFIX).lower()


def _value(text: str) -> Any:
    """A variable's text as JSON where it is JSON, else as it stands."""
    try:
        return json.loads(text)
    except ValueError:
        return text
