"""A cubin's own instructions, run on the CPU: counters as the hardware has them, with no GPU."""
