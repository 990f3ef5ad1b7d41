// A launch that is watched: the hazard finder of the source as it is written hears of each access and each meeting.
//
// Where __syncwarp() stood machine code does not say, so that lanes of one warp count as in order: no race between them is
// found. Nor does it say what is volatile in shared memory: of a kernel with fences all of that counts as volatile. A
// barrier of a part of a block, or in memory, counts as one of all.
#include <algorithm>

#include "hazards.h"
#include "numbers.h"
#include "run.h"

namespace machine {

using engine::Hazards;

// For the block alone where the variant is 1.
static void fence(Warp& w, const Instruction& i, uint32_t lanes) {
    Hazards* hazards = w.block->runner->hazards.get();
    if (!hazards) return;
    hazards->enter_block(w.block->slot);
    for (int lane : EachLane{lanes}) hazards->fence(w.index * WARP + lane, i.variant);
}

const Operation WATCHED_OPERATIONS[] = {{"fence", fence}, {nullptr, nullptr}};

void watch_launch(Runner& runner) {
    const auto& handlers = runner.handlers;
    runner.has_fences = std::find(handlers.begin(), handlers.end(), fence) != handlers.end();
    auto threads = static_cast<int>(total(runner.launch.block));
    runner.hazards.reset(new Hazards(runner.arrays, runner.launch.shared_bytes, threads, WARP));
}

void watch_block(const Block& block, uint64_t cluster) {
    Hazards* hazards = block.runner->hazards.get();
    if (!hazards) return;
    hazards->enter_block(block.slot);
    hazards->start_block(block.slot, block.number, static_cast<unsigned>(cluster));
}

void watch_access(const Warp& w, const Instruction& i, int lane, Space space, uint64_t address, Asked asked, const uint8_t* memory) {
    if (space == LOCAL) return;
    const Block &block = *w.block, &owner = space == CLUSTER ? *block.cluster->blocks[rank_of(block, address)] : block;
    const Runner& runner = *block.runner;
    engine::ThreadAccess access{};
    access.thread = w.index * WARP + lane;
    access.ask = asked.what;
    access.is_shared = space != GLOBAL;
    access.is_strong = is_atomic(asked.what) || i.variant & STRONG || (access.is_shared && runner.has_fences);
    access.is_compare = asked.what == engine::Ask::COMPARE;
    access.is_exchange = asked.is_exchange;
    access.address = address;
    access.size = i.bytes;
    access.place = static_cast<uint32_t>(&i - runner.code.data());
    access.memory = memory;
    if (access.is_shared) {
        access.address = without_rank(address) - runner.launch.shared_base;
    } else {
        uint32_t array = runner.last_array[static_cast<size_t>(i.site)];
        access.array = static_cast<int>(array);
        access.offset = address - runner.arrays[array].address;
    }
    Hazards& hazards = *runner.hazards;
    hazards.settle();
    hazards.enter_block(block.slot);
    hazards.access(access, owner.slot);
    hazards.meet_warp(w.index);
}

void watch_meeting(const Block& block, bool is_of_cluster) {
    Hazards* hazards = block.runner->hazards.get();
    if (!hazards) return;
    hazards->enter_block(block.slot);
    is_of_cluster ? hazards->meet_cluster() : hazards->meet_block();
}

}  // namespace machine

// What was found in a launch that was watched, if there is room for `hazards`; returns how many.
extern "C" uint32_t machine_hazards(const machine::Runner* runner, engine::Hazard* hazards) {
    machine::OwnArithmetic ours;
    std::vector<engine::Hazard> found = runner->hazards->found();
    if (hazards) std::copy(found.begin(), found.end(), hazards);
    return static_cast<uint32_t>(found.size());
}
