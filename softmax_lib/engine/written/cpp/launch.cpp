// Launches: the workers' OS threads, and what Python calls to start, await and stop them.
#include "launch.h"

#include <dlfcn.h>

#if defined(__linux__)
#include <link.h>
#endif

#include <algorithm>
#include <chrono>
#include <memory>

#include "worker.h"

namespace emulator {

// ---- the kernel's library

#if defined(__linux__)

static int find_segments(dl_phdr_info* info, size_t, void* searcher) {
    Library& library = *static_cast<Library*>(searcher);
    if (info->dlpi_addr != library.base) return 0;
    uintptr_t relocated_end = 0;  // up to there nobody writes any more
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_TLS) {
            library.thread_local_module = info->dlpi_tls_modid;
            library.shared_bytes = segment.p_memsz;
        } else if (segment.p_type == PT_LOAD) {
            library.bytes = segment.p_vaddr + segment.p_memsz;
            if (segment.p_flags & PF_X) {
                library.code_low = info->dlpi_addr + segment.p_vaddr;
                library.code_bytes = segment.p_memsz;
            } else if (segment.p_flags & PF_W) {
                library.writable_low = info->dlpi_addr + segment.p_vaddr;
                library.writable_bytes = segment.p_memsz;
            }
        } else if (segment.p_type == PT_GNU_RELRO) {
            relocated_end = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
        }
    }
    uintptr_t skipped = relocated_end - library.writable_low;
    if (skipped <= library.writable_bytes) {
        library.writable_low += skipped;
        library.writable_bytes -= skipped;
    }
    return 1;
}

#endif

Library::Library(const void* symbol) {
    Dl_info info{};
    if (dladdr(symbol, &info)) base = reinterpret_cast<uintptr_t>(info.dli_fbase);
#if defined(__linux__)
    dl_iterate_phdr(find_segments, this);
#endif
}

// ---- launches

static BlockShape shape_of(const Request& request) {
    BlockShape shape;
    shape.threads = 1;
    for (int axis = 0; axis < 3; axis++) {
        shape.axes[axis] = request.block[axis];
        shape.threads *= static_cast<int>(request.block[axis]);
    }
    shape.warp_size = request.warp_size;
    shape.lane_bits = __builtin_ctz(static_cast<unsigned>(request.warp_size));
    return shape;
}

static uint64_t product(const uint32_t (&axes)[3]) { return uint64_t(axes[0]) * axes[1] * axes[2]; }

Launch::Launch(const Request& given, std::vector<Array> touched, std::vector<Array> shared, const std::vector<Line>& lines)
    : request(given),
      shape(shape_of(given)),
      blocks_a_cluster(product(given.cluster)),
      blocks_a_group(given.cooperative ? product(given.grid) : blocks_a_cluster),
      arrays(std::move(touched)),
      variables(std::move(shared)),
      library(reinterpret_cast<const void*>(given.entry)),
      next_group(given.first_block / blocks_a_group) {
    auto is_array = [](const Array& array) { return !array.is_constant; };
    auto first_constant = std::stable_partition(arrays.begin(), arrays.end(), is_array);
    constants.assign(first_constant, arrays.end());
    arrays.erase(first_constant, arrays.end());
    if (!given.metered) return;
    meter = std::make_unique<Meter>(arrays, variables, lines, library.shared_bytes, shape.threads,
                                    shape.warp_size);
}

void Launch::report(const Fault& found) {
    std::lock_guard<std::mutex> lock(mutex);
    if (fault.kind == FaultKind::none || found.block < fault.block) fault = found;
    faulted = true;
}

bool Launch::may_be_helped(uint64_t block) {
    std::this_thread::yield();
    std::lock_guard<std::mutex> lock(mutex);
    for (const Worker* worker : workers) {
        if (worker && worker->live_blocks && worker->first_block < block) return true;
    }
    return false;
}

// Workers are kept between launches, for their stacks.
static std::mutex idle_mutex;
static std::vector<std::unique_ptr<Worker>>& idle_workers() {
    static auto* idle = new std::vector<std::unique_ptr<Worker>>;  // outlives every OS thread
    return *idle;
}

static std::unique_ptr<Worker> take_worker() {
    std::lock_guard<std::mutex> lock(idle_mutex);
    auto& idle = idle_workers();
    if (idle.empty()) return std::make_unique<Worker>();
    std::unique_ptr<Worker> worker = std::move(idle.back());
    idle.pop_back();
    return worker;
}

static void give_back(std::unique_ptr<Worker> worker) {
    std::lock_guard<std::mutex> lock(idle_mutex);
    idle_workers().push_back(std::move(worker));
}

static void work(Launch& launch, int number) {
    std::unique_ptr<Worker> worker = take_worker();
    prepare_thread_for_signals(*worker);
    worker->finished = worker->clock = 0;
    current_worker = worker.get();
    {
        std::lock_guard<std::mutex> lock(launch.mutex);
        launch.workers[number] = worker.get();
    }
    worker->run(launch);
    current_worker = nullptr;
    std::lock_guard<std::mutex> lock(launch.mutex);
    launch.workers[number] = nullptr;
    launch.finished_before += worker->finished;
    give_back(std::move(worker));
    if (--launch.running == 0) launch.all_done.notify_all();
}

}  // namespace emulator

using namespace emulator;

Launch* emulator_start(const Request& request, std::vector<Array> arrays, std::vector<Array> variables,
                       const std::vector<Line>& lines) {
    auto launch = std::make_unique<Launch>(request, std::move(arrays), std::move(variables), lines);
    int count = request.workers;
    uint64_t groups = request.blocks / launch->blocks_a_group;
    if (groups < static_cast<uint64_t>(count)) count = static_cast<int>(groups);
    launch->workers.resize(count);
    launch->running = count;
    install_signal_handlers();
    for (int i = 0; i < count; i++) launch->threads.emplace_back(work, std::ref(*launch), i);
    return launch.release();
}

int emulator_await(Launch* launch, double seconds) {
    std::unique_lock<std::mutex> lock(launch->mutex);
    return launch->all_done.wait_for(lock, std::chrono::duration<double>(seconds),
                                     [launch] { return launch->running == 0; });
}

uint64_t emulator_progress(Launch* launch) {
    std::lock_guard<std::mutex> lock(launch->mutex);
    uint64_t finished = launch->finished_before;
    for (const Worker* worker : launch->workers) {
        if (worker) finished += worker->finished.load(std::memory_order_relaxed);
    }
    return finished;
}

void emulator_stop(Launch* launch) {
    launch->stopped = true;
    std::lock_guard<std::mutex> lock(launch->mutex);
    for (size_t i = 0; i < launch->threads.size(); i++) {
        if (launch->workers[i]) interrupt(launch->threads[i]);
    }
}

void emulator_finish(Launch* launch) {
    for (std::thread& thread : launch->threads) thread.join();
    remove_signal_handlers();
    delete launch;
}
