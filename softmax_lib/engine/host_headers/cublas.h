// An older name of the same library.
#pragma once
#include "cublas_v2.h"
