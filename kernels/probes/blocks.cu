// blocks: does nothing, so that its time is that of starting and ending its blocks.
//   sink     is never written, which the compiler cannot know

extern "C" __global__ void probe_blocks(float* sink, int rows) {
    if (rows < 0) *sink = 0.0f;
}
