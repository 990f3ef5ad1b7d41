// Words of CUDA's C++ library that several of its headers share. A scope says which threads take
// part, and makes no difference here.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

namespace cuda {

// The standard library, and what CUDA has beside it or has of its own.
namespace std {

using namespace ::std;

enum thread_scope {
    thread_scope_system = 0,
    thread_scope_device = 1,
    thread_scope_block = 2,
    thread_scope_thread = 10,
};

}  // namespace std

using std::thread_scope;
using std::thread_scope_block;
using std::thread_scope_device;
using std::thread_scope_system;
using std::thread_scope_thread;

// A size that is a multiple of `alignment`, as are the addresses it belongs to.
template <size_t alignment>
struct aligned_size_t {
    static constexpr size_t align = alignment;
    size_t value;

    explicit constexpr __forceinline__ aligned_size_t(size_t bytes) : value(bytes) {}
    constexpr __forceinline__ operator size_t() const { return value; }
};

// Whether a copy goes on in the background.
enum class async_contract_fulfillment { none, async };

}  // namespace cuda
