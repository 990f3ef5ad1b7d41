// The program of the emulator's own process: it loads the runtime, which kernels' libraries find by
// its name, and lets it answer.
#include <dlfcn.h>

#include <cstdlib>

int main(int, char** words) {
    void* runtime = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    auto serve = runtime ? reinterpret_cast<void (*)(int, int)>(dlsym(runtime, "emulator_serve")) : nullptr;
    if (serve) serve(atoi(words[2]), atoi(words[3]));
    return 1;
}
