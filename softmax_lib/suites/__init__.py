"""Measuring on a GPU: one timing protocol for kernels and peers, ncu, and the making of a record."""
