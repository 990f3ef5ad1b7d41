// Sizes, offsets and enumerators as they were compiled; structs.py holds its own against them.
#include <cstddef>

#include "black_box.h"
#include "launch.h"

namespace emulator {

struct LayoutEntry {
    const char* name;
    uint64_t value;
};

#define SIZE(type) {#type, sizeof(type)}
#define AT(type, field) {#type "." #field, offsetof(type, field)}
#define IS(type, name) {#type "." #name, static_cast<uint64_t>(type::name)}

static const LayoutEntry LAYOUT[] = {
    SIZE(Array), AT(Array, address), AT(Array, bytes), AT(Array, is_input), AT(Array, is_unwritten),

    SIZE(Line), AT(Line, start), AT(Line, place), AT(Line, unused),

    SIZE(Request), AT(Request, entry), AT(Request, arguments), AT(Request, arrays),
    AT(Request, variables), AT(Request, lines), AT(Request, first_block), AT(Request, blocks),
    AT(Request, record_limit), AT(Request, grid), AT(Request, cluster), AT(Request, block),
    AT(Request, warp_size), AT(Request, cooperative), AT(Request, array_count),
    AT(Request, variable_count), AT(Request, line_count), AT(Request, workers), AT(Request, traced),
    AT(Request, metered), AT(Request, step),

    SIZE(Fault), AT(Fault, kind), AT(Fault, access), AT(Fault, block), AT(Fault, pc),
    AT(Fault, address), AT(Fault, thread), AT(Fault, size), AT(Fault, in_shared),
    AT(Fault, pc_is_exact), AT(Fault, is_misaligned), AT(Fault, line), AT(Fault, file),
    AT(Fault, text),

    SIZE(BlackBox), AT(BlackBox, block), AT(BlackBox, pc), AT(BlackBox, address), AT(BlackBox, thread),
    AT(BlackBox, signal), AT(BlackBox, is_guard), AT(BlackBox, pc_is_exact),

    SIZE(Record), AT(Record, address), AT(Record, value), AT(Record, site), AT(Record, block),
    AT(Record, thread), AT(Record, operation), AT(Record, size), AT(Record, step),
    AT(Record, type), AT(Record, source_lane),

    SIZE(LineCounts), AT(LineCounts, requests), AT(LineCounts, lanes), AT(LineCounts, bytes),
    AT(LineCounts, sectors), AT(LineCounts, wavefronts), AT(LineCounts, conflicts), AT(LineCounts, place),
    AT(LineCounts, operation), AT(LineCounts, is_shared), AT(LineCounts, size),
    AT(LineCounts, array), AT(LineCounts, unused),

    SIZE(Hazard), AT(Hazard, address), AT(Hazard, times), AT(Hazard, block), AT(Hazard, kind),
    AT(Hazard, place), AT(Hazard, other_place), AT(Hazard, thread), AT(Hazard, other_thread),
    AT(Hazard, is_shared), AT(Hazard, is_store), AT(Hazard, other_is_store),
    AT(Hazard, other_is_elsewhere), AT(Hazard, is_in_heap),

    IS(FaultKind, none), IS(FaultKind, barrier), IS(FaultKind, deadlock), IS(FaultKind, waiting),
    IS(FaultKind, address),
    IS(FaultKind, hang), IS(FaultKind, other), IS(FaultKind, record_limit),

    IS(Access, unknown), IS(Access, load), IS(Access, store),

    IS(StopReason, none), IS(StopReason, cancelled), IS(StopReason, hang),

    IS(Operation, load), IS(Operation, store), IS(Operation, atomic), IS(Operation, barrier),
    IS(Operation, barrier_and), IS(Operation, barrier_or), IS(Operation, barrier_count),
    IS(Operation, cluster_barrier), IS(Operation, grid_barrier),
    IS(Operation, syncwarp), IS(Operation, shuffle), IS(Operation, shuffle_up),
    IS(Operation, shuffle_down), IS(Operation, shuffle_xor), IS(Operation, ballot),
    IS(Operation, any), IS(Operation, all), IS(Operation, match_any), IS(Operation, match_all),
    IS(Operation, reduce_add), IS(Operation, reduce_min), IS(Operation, reduce_max),
    IS(Operation, reduce_and), IS(Operation, reduce_or), IS(Operation, reduce_xor),
    IS(Operation, poll),

    IS(ValueType, floating), IS(ValueType, integer), IS(ValueType, unsigned_integer),

    IS(HazardKind, race), IS(HazardKind, uninitialised), IS(HazardKind, absent_lane),
    IS(HazardKind, input_written), IS(HazardKind, unwritten_local),
};

#undef SIZE
#undef AT
#undef IS

}  // namespace emulator

EMULATOR_API const emulator::LayoutEntry* emulator_layout(uint64_t* count) {
    *count = sizeof emulator::LAYOUT / sizeof *emulator::LAYOUT;
    return emulator::LAYOUT;
}
