// Drives the emulator's runtime without Python, so that a cross-compiled one can be tried:
//   drive_emulator RUNTIME KERNEL ROWS COLS BLOCK_SIZE WARP_SIZE TRACED
// Launches its kernel with one block a row on x[i] = i % 7 and prints the fault, the number of records,
// and y, one line each.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "launch.h"

using namespace emulator;

static void* open_or_exit(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror()), exit(2);
    return library;
}

template <class Function>
static Function* find(void* library, const std::string& name) {
    void* symbol = dlsym(library, name.c_str());
    if (!symbol) fprintf(stderr, "%s\n", dlerror()), exit(2);
    return reinterpret_cast<Function*>(symbol);
}

// The end of the array is the start of a page that faults.
static Array map(uint64_t elements) {
    uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), bytes = (elements * 4 + page - 1) / page * page;
    void* mapped = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t end = reinterpret_cast<uint64_t>(mapped) + bytes;
    mprotect(reinterpret_cast<void*>(end), page, PROT_NONE);
    return {end - elements * 4, elements * 4, 0, 0};
}

int main(int, char** argument) {
    void* runtime = open_or_exit(argument[1]);
    void* kernel = open_or_exit(argument[2]);
    int rows = atoi(argument[3]), cols = atoi(argument[4]);
    std::vector<Array> arrays{map(rows * cols), map(rows * cols)};
    float* x = reinterpret_cast<float*>(arrays[0].address);
    float* y = reinterpret_cast<float*>(arrays[1].address);
    for (int i = 0; i < rows * cols; i++) x[i] = static_cast<float>(i % 7);
    void* arguments[] = {&x, &y, &rows, &cols};
    Array all_shared{0, 48 << 10, 0, 0};

    Request request{};
    request.entry = find<void(void* const*)>(kernel, "emulator_call_0");
    request.arguments = arguments;
    request.arrays = arrays.data();
    request.array_count = 2;
    request.variables = &all_shared;
    request.variable_count = 1;
    request.grid[0] = static_cast<uint32_t>(request.blocks = rows);
    request.block[0] = static_cast<uint32_t>(atoi(argument[5]));
    request.grid[1] = request.grid[2] = request.block[1] = request.block[2] = 1;
    request.cluster[0] = request.cluster[1] = request.cluster[2] = 1;
    request.warp_size = atoi(argument[6]);
    request.traced = atoi(argument[7]);
    request.workers = request.traced ? 1 : 2;
    request.record_limit = 1000000;

    Launch* launch = find<Launch*(const Request*)>(runtime, "emulator_start")(&request);
    auto* wait = find<int(Launch*, double)>(runtime, "emulator_await");
    auto* stop = find<void(Launch*, StopReason)>(runtime, "emulator_stop");
    if (!wait(launch, 5.0)) {
        do stop(launch, StopReason::hang);
        while (!wait(launch, 0.1));
    }
    const Fault* fault = find<const Fault*(Launch*)>(runtime, "emulator_fault")(launch);
    uint64_t records;
    find<const Record*(Launch*, uint64_t*)>(runtime, "emulator_records")(launch, &records);
    printf("%d %d %s\n%d\n", static_cast<int>(fault->kind), fault->thread, fault->text,
           static_cast<int>(records));
    for (int i = 0; i < rows * cols; i++) printf("%.9g ", y[i]);
    printf("\n");
    find<void(Launch*)>(runtime, "emulator_finish")(launch);
}
