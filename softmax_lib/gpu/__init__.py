"""The GPU: compiling for it, launching on it, and the facts about it."""
