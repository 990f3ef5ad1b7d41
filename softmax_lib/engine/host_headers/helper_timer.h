// Of the CUDA samples' helpers, the type of a timer: the calls are the host's, and left out.
#pragma once
struct StopWatchInterface;
