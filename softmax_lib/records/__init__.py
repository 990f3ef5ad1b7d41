"""What was measured, with its provenance: kept in book/measurements/<gpu>.json."""
