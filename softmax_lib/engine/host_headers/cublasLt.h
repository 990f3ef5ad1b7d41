// Types of a library of the host, whose calls are left out before the emulator compiles.
#pragma once
#include "cublas_v2.h"

typedef struct cublasLtContext* cublasLtHandle_t;
