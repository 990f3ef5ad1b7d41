// Races, reads of what nobody wrote, writes into what is only to be read.
//
// Each word remembers its last write, and since then every read, atomic and volatile access that a
// later one may race with: what FastTrack keeps of a variable (Flanagan and Freund 2009). Two touches are
// in order when a barrier or a __syncwarp() lies between them, or a word in shared memory at which one
// warp has arrived and the other waited; between blocks, a barrier of the cluster or the grid, such a
// word, or a fence and then an atomic or volatile access that the other block has seen. Volatile accesses race
// as plain ones do, but for flags: what one lane stores behind a fence, and what somebody reads until it changes.
// A copy in the background is in order with nothing until it has been waited for, and its own thread's from then on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "rules.h"

namespace engine {

// ---- what those who meet now and then know of each other

// By number of block: what that block did before this epoch is over.
typedef std::unordered_map<uint64_t, uint32_t> Knowledge;

inline void learn(Knowledge& known, uint64_t block, uint32_t epoch) {
    uint32_t& before = known[block];
    before = std::max(before, epoch);
}
inline void learn(Knowledge& known, const Knowledge& more) {
    for (const auto& [block, epoch] : more) learn(known, block, epoch);
}

// By thread of a block, or lane of a warp: what that one did before this epoch is over.
class ByThread {
public:
    uint32_t newest = 0;

    void learn(size_t thread, uint32_t epoch) {
        if (thread >= epochs_.size()) epochs_.resize(thread + 1);
        epochs_[thread] = std::max(epochs_[thread], epoch);
        newest = std::max(newest, epoch);
    }
    void learn(const ByThread& more) {
        epochs_.resize(std::max(epochs_.size(), more.epochs_.size()));
        for (size_t i = 0; i < more.epochs_.size(); i++) epochs_[i] = std::max(epochs_[i], more.epochs_[i]);
        newest = std::max(newest, more.newest);
    }
    uint32_t of(size_t thread) const { return thread < epochs_.size() ? epochs_[thread] : 0; }
    bool is_over(size_t thread, uint32_t epoch) const { return epoch < newest && epoch < of(thread); }

private:
    std::vector<uint32_t> epochs_;
};

// ----

// The last three: races that a shuffle or vote lies between, which orders no memory; of volatile accesses by lanes of
// one warp; and of stores of one value, where it is all the same which comes last.
enum class HazardKind : int32_t { race, uninitialised, absent_lane, input_written, unwritten_local, two_barriers, overflow, in_flight, race_over_call, race_in_step, same_value };

// One access of one thread.
struct ThreadAccess {
    int thread;        // in its block
    Ask ask;
    bool is_shared;
    bool is_strong;    // an atomic, or a volatile load: it races with none of its kind
    bool is_volatile;
    bool is_compare;   // an atomic that looks whether what was read before still stands
    bool is_in_heap;
    bool is_of_block;  // an atomic for the threads of its block alone
    bool is_exchange;  // an atomic that does not need what it finds
    uint64_t address;  // shared: offset in the block's shared memory
    unsigned size;
    uint32_t place;    // in the code: its number is the caller's
    int array;         // of those that are watched,
    uint64_t offset;   // and where in it
    const void* memory;  // where that is in this process
};

// Two accesses that nothing orders, a read of what nobody wrote, a shuffle from a lane that takes no
// part, or a write into an array that is only to be read; the first of `times`.
struct Hazard {
    uint64_t address;     // global: of the byte; shared: offset in the block's shared memory; or the lane
    uint64_t times;
    uint64_t block;
    HazardKind kind;
    uint32_t place, other_place;
    int32_t thread, other_thread;
    int32_t is_shared;
    int32_t is_store, other_is_store;
    int32_t other_is_elsewhere;   // in another block
    int32_t is_in_heap;           // `address` is an offset in what malloc() gave
    int32_t is_volatile, other_is_volatile, is_atomic, other_is_atomic;
};
static_assert(sizeof(Hazard) == 80);

class Hazards {
public:
    // Of each array its bytes, whether it is only to be read, and whether nobody has written into it yet.
    template <class Array>
    Hazards(const std::vector<Array>& arrays, size_t shared_bytes, int block_size, int warp_size)
        : block_size_(static_cast<uint64_t>(block_size)),
          warp_size_(warp_size),
          warps_a_block_(static_cast<uint32_t>((block_size + warp_size - 1) / warp_size)),
          shared_bytes_(shared_bytes) {
        for (const Array& array : arrays) {
            arrays_.emplace_back(array.bytes);
            arrays_.back().is_input = array.is_input;
            arrays_.back().is_unwritten = array.is_unwritten;
        }
    }

    void start_block(size_t slot, uint64_t number, unsigned cluster);
    void enter_block(size_t slot) { here_ = slot; }
    void access(const ThreadAccess& access, size_t owner);  // of shared memory: whose it is
    // What malloc() gives, and gets back; one from an earlier launch is known by its first access.
    void take_heap(uint64_t block, uint64_t bytes);
    void give_back_heap(uint64_t block);
    void access_heap(const ThreadAccess& access, uint64_t block, uint64_t bytes);
    void note_step() { steps_++; }                // lanes that waited for one another before volatile accesses go on
    void note_poll(uint32_t place) { polls_.insert(place); }   // where a thread reads a word until it changes
    // What is no race: `what` is the lane that is absent, or the int that has overflown; of two barriers the other one.
    void note(HazardKind kind, uint32_t place, int thread, uint64_t what = 0, uint32_t other_place = 0, int other_thread = 0);
    void fence(int thread, bool is_of_block);
    void meet_block();
    void meet_warp(int warp);
    void call_warp(int warp);                       // lanes exchange values, and no memory
    void meet_lanes(int warp, unsigned lanes);      // some of them
    void meet_warps(uint32_t warps);                // all lanes of some warps
    // Through a word of the shared memory of block `owner`: what the thread did before is over for the
    // warps that take it over.
    void hand_over(int thread, uint64_t word, size_t owner);
    void take_over(int thread, uint64_t word, size_t owner);
    // The same where the word is a barrier: it hands over what was done before a phase when that is over.
    void arrive(int thread, uint64_t word, size_t owner);
    void end_phase(int thread, uint64_t word, size_t owner);
    // What is accessed from here on, until `end_copies`, is by copies that land when their batch is waited
    // for, or with the phase of `word`.
    void begin_copies(int thread, uint64_t word, size_t owner);
    void end_copies(int, uint64_t, size_t) { is_copying_ = false; }
    void commit_copies(int thread, uint64_t, size_t);
    void await_copies(int thread, uint64_t but_last, bool only_reads);
    void bind_copies(int thread, uint64_t word, size_t owner);   // to a barrier, all that are bound to none
    void meet_cluster();
    void meet_grid();
    // The same, where threads wait apart from arriving: what they do between is not over with the barrier.
    void arrive_apart(int thread);
    void end_apart(bool is_grid);
    void hear_apart() { here().heard = here().phases; }

    // Stores that may be of the value that was there are in memory by now.
    void settle() {
        if (!undecided_.empty()) decide();
    }
    // All that was found, but for what turned out to be a flag, or the first read of a compare-and-swap loop.
    std::vector<Hazard> found() const;

    static constexpr uint64_t NO_WORD = ~0ull;

private:
    static constexpr uint64_t ARRIVING = 1ull << 63;   // a mark on a barrier's word
    static constexpr uint32_t IN_FLIGHT = ~0u;         // the epoch of a copy's touch until it lands

    // Lanes of a warp that touched a word at one line and in one epoch. Epochs count meetings; 0 is never. One that
    // comes before a later one is forgotten: whoever comes after that one comes after it too.
    struct Touch {
        uint32_t epoch = 0;
        uint32_t place : 29, is_strong : 1, is_of_block : 1, is_volatile : 1;
        uint32_t warp = 0;     // in the grid
        uint32_t lanes = 0;
        uint32_t next = 0;     // in the pool; 0: no more

        Touch() : place(0), is_strong(0), is_of_block(0), is_volatile(0) {}
        bool is_of_kind(const Touch& other) const {
            return is_strong == other.is_strong && is_of_block == other.is_of_block && is_volatile == other.is_volatile;
        }
        bool is_alike(const Touch& other) const {
            return epoch == other.epoch && place == other.place && is_of_kind(other) && warp == other.warp;
        }
    };
    // Lists: the latest first; those of one block follow one another.
    struct Word {
        Touch write;
        uint32_t readers = 0, strong_writers = 0;
    };
    // Words are 4 bytes until a thread touches fewer.
    struct Stretch {
        unsigned word_bytes = 4;
        bool is_input = false, is_unwritten = false;
        uint64_t bytes;
        std::vector<Word> words;   // empty until one is asked for
        std::vector<Touch> pool{1};
        uint32_t unused = 0;   // of the pool, the first

        explicit Stretch(uint64_t bytes) : bytes(bytes) {}
        Word& word_at(uint64_t offset) {
            if (words.empty()) words.resize(bytes / word_bytes + 1);
            return words[offset / word_bytes];
        }
        void refine(unsigned size);
        void add(uint32_t& first, Touch touching);
        uint32_t copy(uint32_t first);
        void remove(uint32_t& link);
    };
    // An access of a copy that has not been waited for.
    struct Flight {
        ThreadAccess access;
        Stretch* stretch;
        uint64_t offset, word;
        uint64_t batch;        // of its thread's
    };
    static constexpr uint64_t NO_BATCH = ~0ull;
    struct ThreadState {
        ByThread lanes;                      // what it knows of those of its warp
        uint64_t seen = NO_WORD;             // the word that it has read since its last fence,
        size_t seen_owner = 0;               // and whose it is
        uint64_t batches = 0;                // of copies
        std::vector<Flight> flights;
    };
    // What a word hands over: by thread of the block that it is of, and of other blocks.
    struct WordKnowledge {
        ByThread threads;
        Knowledge blocks;
        std::vector<Flight> landing;   // for the first who sees that their phase is over
        std::vector<uint32_t> told, given;   // by warp: the newest that it took over, what it knew when it handed over
    };
    struct WarpState {
        uint32_t met = 0, called = 0;   // epochs: when its lanes met, and called
        uint32_t fenced = 0;            // lanes that have stored nothing since their last fence
        uint32_t version = 0;           // how often it has learned
        ByThread threads{};             // what it knows of those of its block
    };
    struct BlockState {
        uint64_t number = 0;
        unsigned cluster = 0;
        uint32_t start = 1, barrier = 1, fence = 0;   // epochs
        std::vector<WarpState> warps;
        std::vector<ThreadState> threads;
        ByThread arriving, arrived[2];                // at a barrier of several blocks: now, and in its last phases
        uint32_t phases = 0, heard = 0;               // of that one, and how many were waited for
        std::unordered_map<uint64_t, WordKnowledge> words;   // by offset in shared memory
        Knowledge known;
        Stretch shared{0};
    };

    // Where volatile stores are made: as flags, unless one was made without a fence, or by several lanes at once.
    struct Stores {
        bool are_flags = true;
        uint64_t warp = 0;     // of the last one, in the grid,
        uint64_t step = 0;
        uint32_t lane = 0;
    };
    // Two stores, the later one not yet in memory.
    struct Undecided {
        ThreadAccess access;
        uint64_t address;
        Touch other;
        uint8_t before[16];    // what was where the later one goes
    };
    void decide();
    void note_order(const ThreadAccess& access, size_t owner);
    void note_volatile_store(const ThreadAccess& access, bool is_fenced);
    bool is_excused(const Hazard& hazard) const;
    bool is_flag(uint32_t place) const;
    HazardKind kind_of_race(const ThreadAccess& access, const Touch& other) const;
    void report_race(const ThreadAccess& access, uint64_t address, const Touch& other, bool other_is_store);
    void forgive_reads(const Stretch& stretch, uint32_t first, const ThreadAccess& access);
    void watch(Stretch& stretch, const ThreadAccess& access, uint64_t offset);
    void watch_word(Stretch& stretch, Word& word, const ThreadAccess& access, uint64_t address);
    void look_for_race(const Stretch& stretch, uint32_t first, const ThreadAccess& access, uint64_t address, bool are_stores);
    bool is_any_current(const Stretch& stretch, uint32_t first, const ThreadAccess& access) const;
    void remember(Stretch& stretch, uint32_t& first, const ThreadAccess& access);
    void merge_block(Stretch& stretch, uint32_t& first) const;
    uint32_t lanes_before(const Touch& other, int now) const;
    Touch touch_of(const ThreadAccess& access) const;
    void take_off(Stretch& stretch, const ThreadAccess& access, uint64_t offset);
    void land(const Flight& flight, bool is_kept = true);
    void land_at_phase(WordKnowledge& word, size_t owner);
    void forget_flights(size_t slot);
    void exchange_with_blocks(const ThreadAccess& access);
    bool is_current(uint32_t epoch, const ThreadAccess& access) const;
    uint32_t lanes_over(const Touch& other, int now) const;
    bool is_ordered_between_blocks(uint64_t before_block, uint32_t epoch) const;
    void report(HazardKind kind, const ThreadAccess& access, uint64_t address, const Touch& other = Touch(),
                bool other_is_store = false);
    unsigned warp_of(int thread) const { return static_cast<unsigned>(thread / warp_size_); }
    uint32_t in_grid(unsigned warp) const { return static_cast<uint32_t>(here().number * warps_a_block_ + warp); }
    bool is_here(const Touch& touch) const { return touch.warp - in_grid(0) < warps_a_block_; }
    ThreadState& own(int thread) { return here().threads[static_cast<size_t>(thread)]; }
    BlockState& here() { return blocks_[here_]; }
    const BlockState& here() const { return blocks_[here_]; }

    uint64_t block_size_;
    int warp_size_;
    uint32_t warps_a_block_;
    size_t shared_bytes_, here_ = 0;
    std::vector<Stretch> arrays_;
    std::unordered_map<uint64_t, Stretch> heap_;        // by address of what malloc() gave
    std::vector<BlockState> blocks_;                    // those that take turns
    std::unordered_map<uint64_t, Knowledge> handed_;    // by address of an atomic or volatile word
    uint32_t epoch_ = 1, grid_epoch_ = 0;
    bool is_copying_ = false, is_grid_apart_ = false;
    std::map<unsigned, uint32_t> cluster_epochs_;
    uint64_t copied_until_ = NO_WORD;                   // with a phase of which the copies now begun land
    std::vector<Hazard> found_;
    std::map<std::tuple<HazardKind, uint32_t, uint32_t>, size_t> index_of_;
    std::vector<Undecided> undecided_;
    uint64_t steps_ = 1;
    std::map<uint32_t, Stores> volatile_stores_;        // by place,
    std::set<uint32_t> polls_;                          // where words are read until they change,
    std::set<uint32_t> first_reads_;                    // and where a loop of compare-and-swaps begins
};

}  // namespace engine
