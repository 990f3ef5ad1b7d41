// What the CUDA samples' helpers include: all of it is the host's.
#pragma once
#include "helper_string.h"
