// Sizes, offsets and enumerators as they were compiled; structs.py holds its own against them.
#include <cstddef>

#include "launch.h"

namespace emulator {

struct LayoutEntry {
    const char* name;
    uint64_t value;
};

// (DO, type, a, b, ...) makes DO(type, a) DO(type, b) ...
#define EACH(DO, type, ...) EXPAND(EACH_(DO, type, __VA_ARGS__))
#define EACH_(DO, type, first, ...) DO(type, first), __VA_OPT__(EACH_AGAIN PARENTHESES(DO, type, __VA_ARGS__))
#define EACH_AGAIN() EACH_
#define PARENTHESES ()
#define EXPAND(...) EXPAND_5(EXPAND_5(EXPAND_5(EXPAND_5(EXPAND_5(__VA_ARGS__)))))  // 25 times
#define EXPAND_5(...) EXPAND_1(EXPAND_1(EXPAND_1(EXPAND_1(EXPAND_1(__VA_ARGS__)))))
#define EXPAND_1(...) __VA_ARGS__
#define AT(type, field) {#type "." #field, offsetof(type, field)}
#define IS(type, name) {#type "." #name, static_cast<uint64_t>(type::name)}
#define STRUCT(type, ...) {#type, sizeof(type)}, EACH(AT, type, __VA_ARGS__)
#define ENUM(type, ...) EACH(IS, type, __VA_ARGS__)
#define OPERATION(name, words) IS(Operation, name),

static const LayoutEntry LAYOUT[] = {
    STRUCT(Array, address, bytes, is_input, is_unwritten)
    STRUCT(Line, start, place, unused)
    STRUCT(Request, entry, arguments, arrays, variables, lines, first_block, blocks, record_limit, grid, cluster, block,
           warp_size, cooperative, array_count, variable_count, line_count, workers, traced, metered, step)
    STRUCT(Fault, kind, access, block, pc, address, thread, size, in_shared, pc_is_exact, is_misaligned, line, file, text)
    STRUCT(BlackBox, block, pc, address, thread, signal, is_guard, pc_is_exact)
    STRUCT(Record, address, value, site, block, thread, operation, size, step, type, source_lane)
    STRUCT(LineCounts, requests, lanes, bytes, sectors, wavefronts, conflicts, place, operation, is_shared, size, array,
           unused)
    STRUCT(Hazard, address, times, block, kind, place, other_place, thread, other_thread, is_shared, is_store,
           other_is_store, other_is_elsewhere, is_in_heap)
    ENUM(FaultKind, none, barrier, deadlock, waiting, address, hang, other, record_limit)
    ENUM(Access, unknown, load, store)
    ENUM(StopReason, none, cancelled, hang)
    EMULATOR_OPERATIONS(OPERATION)
    ENUM(ValueType, floating, integer, unsigned_integer)
    ENUM(HazardKind, race, uninitialised, absent_lane, input_written, unwritten_local)
};

}  // namespace emulator
