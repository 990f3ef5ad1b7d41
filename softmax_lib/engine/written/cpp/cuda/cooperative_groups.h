// CUDA's cooperative groups, but for groups of several GPUs.
#pragma once
#include "../groups/invoke.h"
