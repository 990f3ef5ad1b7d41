"""Kernels of other people's repositories: how each is launched, and what it should leave in its arrays."""
