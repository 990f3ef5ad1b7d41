"""What pages show: figures of what was measured, drawings of what was emulated, live boxes."""
