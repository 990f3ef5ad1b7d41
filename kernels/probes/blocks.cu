// blocks: a grid of blocks that end at once.

extern "C" __global__ void probe_blocks() {}
