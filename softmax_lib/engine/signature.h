// What a kernel takes, as numbers that Python reads: the C++ compiler works them out for the
// emulator, and NVRTC for a GPU. Put in front of a kernel's source, whose macros may have any name.

struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;

namespace kernel_signature {

enum Kind { structure, boolean, signed_integer, unsigned_integer, floating, half, bfloat, nothing };

template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<const T> { typedef T type; };
template <class T> struct Plain<volatile T> { typedef T type; };
template <class T> struct Plain<const volatile T> { typedef T type; };

template <class T> struct IsConst { static constexpr bool value = false; };
template <class T> struct IsConst<const T> { static constexpr bool value = true; };
template <class T> struct IsConst<const volatile T> { static constexpr bool value = true; };

template <class T, bool is_enum = __is_enum(T)> struct Element {
    static constexpr int kind = structure, size = sizeof(T), lanes = 1;
};
template <class T> struct Element<T, true> : Element<__underlying_type(T)> {};

#define SIGNATURE_ELEMENT(T, number, count) \
    template <> struct Element<T, false> { static constexpr int kind = number, size = sizeof(T), lanes = count; };
#define SIGNATURE_VECTORS(name, number)                                               \
    SIGNATURE_ELEMENT(::name##1, number, 1) SIGNATURE_ELEMENT(::name##2, number, 2)   \
    SIGNATURE_ELEMENT(::name##3, number, 3) SIGNATURE_ELEMENT(::name##4, number, 4)
SIGNATURE_ELEMENT(bool, boolean, 1)
SIGNATURE_ELEMENT(char, signed_integer, 1) SIGNATURE_ELEMENT(signed char, signed_integer, 1)
SIGNATURE_ELEMENT(unsigned char, unsigned_integer, 1)
SIGNATURE_ELEMENT(short, signed_integer, 1) SIGNATURE_ELEMENT(unsigned short, unsigned_integer, 1)
SIGNATURE_ELEMENT(int, signed_integer, 1) SIGNATURE_ELEMENT(unsigned, unsigned_integer, 1)
SIGNATURE_ELEMENT(long, signed_integer, 1) SIGNATURE_ELEMENT(unsigned long, unsigned_integer, 1)
SIGNATURE_ELEMENT(long long, signed_integer, 1) SIGNATURE_ELEMENT(unsigned long long, unsigned_integer, 1)
SIGNATURE_ELEMENT(float, floating, 1) SIGNATURE_ELEMENT(double, floating, 1)
SIGNATURE_VECTORS(char, signed_integer) SIGNATURE_VECTORS(uchar, unsigned_integer)
SIGNATURE_VECTORS(short, signed_integer) SIGNATURE_VECTORS(ushort, unsigned_integer)
SIGNATURE_VECTORS(int, signed_integer) SIGNATURE_VECTORS(uint, unsigned_integer)
SIGNATURE_VECTORS(longlong, signed_integer) SIGNATURE_VECTORS(ulonglong, unsigned_integer)
SIGNATURE_VECTORS(float, floating) SIGNATURE_VECTORS(double, floating)
template <> struct Element<::__half, false> { static constexpr int kind = half, size = 2, lanes = 1; };
template <> struct Element<::__half2, false> { static constexpr int kind = half, size = 4, lanes = 2; };
template <> struct Element<::__nv_bfloat16, false> { static constexpr int kind = bfloat, size = 2, lanes = 1; };
template <> struct Element<::__nv_bfloat162, false> { static constexpr int kind = bfloat, size = 4, lanes = 2; };
template <> struct Element<void, false> { static constexpr int kind = nothing, size = 1, lanes = 1; };

// Depth counts the pointers, and `is_const` is of what the last one points to.
template <class T> struct Parameter : Element<T> {
    static constexpr int depth = 0, is_const = 0, bytes = sizeof(T);
};
template <class T> struct Pointee : Element<typename Plain<T>::type> {
    static constexpr int depth = 1, is_const = IsConst<T>::value;
};
template <class T> struct Pointee<T*> : Pointee<T> { static constexpr int depth = Pointee<T>::depth + 1; };
template <class T> struct Pointee<T* const> : Pointee<T*> {};
template <class T> struct Parameter<T*> : Pointee<T> { static constexpr int bytes = sizeof(T*); };

template <class Kernel> struct SignatureOf;
template <class... P> struct SignatureOf<void (*)(P...)> {
    struct SignatureTable { int rows[sizeof...(P) + 1][6]; };
    static constexpr SignatureTable signature_table = {
        {{sizeof...(P)},
         {Parameter<P>::depth, Parameter<P>::is_const, Parameter<P>::kind, Parameter<P>::size,
          Parameter<P>::lanes, Parameter<P>::bytes}...}};
};

}  // namespace kernel_signature
