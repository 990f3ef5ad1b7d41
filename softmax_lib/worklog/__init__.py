"""The ladder: kernels of the book and how they are launched, what is right, what one asks of memory."""
