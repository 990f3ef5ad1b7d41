// assert(), each time that it is included, as it is in C.
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
    ((condition) ? (void)0 : emulator_fail("assertion `" #condition "` failed", {__FILE__, __LINE__}))
#endif
