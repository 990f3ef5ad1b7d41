// What throwing and catching asks of a runtime in WebAssembly, where one kind of object is ever thrown: `Stop`.
#if defined(__wasm__)
#include <cstdint>
#include <cstdlib>

__asm__(
    ".globl __cpp_exception\n"
    ".tagtype __cpp_exception i32\n"
    "__cpp_exception:\n");

extern "C" {
struct {
    uintptr_t index, data, selector;
} __wasm_lpad_context;

void* __cxa_allocate_exception(size_t bytes) { return malloc(bytes); }
void __cxa_free_exception(void* thrown) { free(thrown); }
[[noreturn]] void __cxa_throw(void* thrown, void*, void*) { __builtin_wasm_throw(0, thrown); }
[[noreturn]] void __cxa_rethrow() { abort(); }
// Whoever catches takes it: the first kind that is caught.
int _Unwind_CallPersonality(void*) {
    __wasm_lpad_context.selector = 1;
    return 0;
}
void* __cxa_begin_catch(void* thrown) { return thrown; }
void __cxa_end_catch() {}
}
#endif
