"""`softmax()` and `log_softmax()` for torch: the kernels of kernels/fast, chosen, compiled and launched."""
