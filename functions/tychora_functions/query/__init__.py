"""Query: from a question to cited evidence, and a run again from its token."""

from tychora_functions.query.query import query, replay

__all__ = ["query", "replay"]
