// Of the CUDA samples' helpers, what they include: their functions are the host's, and left out.
#pragma once
#include <string>
