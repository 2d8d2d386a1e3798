"""States of the past: naming one, comparing two, going back to one."""
