// Calls of prepared launches, in C: from torch's tensors to CUDA's driver without Python between.
//
//   Calls(exchange, launch, current_device, device_type, tensor, empty_like, wrote,
//         wants_gradients, idle, idle_16, at_most)
//       wrote             is told of a tuple of tensors that were written to: torch counts versions
//       wants_gradients   says whether torch follows what is computed of tensors that require it
//       is_negated        says whether the signs of a tensor's numbers are still to be turned
//       idle              pairs of a function and its answer while no mode of torch wants to hear
//       idle_16           more of them, for 16 bits
//   calls.run(x, out, dim, log)    the result; None where Python has to see to the call
//   calls.keep(x, out, dim, log, kernel, blocks, threads, shared_bytes, attributes, numbers)
//
// A launch is kept for what `Key` says of x and out, and serves every call of which it says so.
// Tensors are read by the functions that torch offers for this (DLPack's exchange API, version 1.3:
// github.com/dmlc/dlpack), so that nothing of torch is needed to compile this file.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

// ---- DLPack, as far as it is used

typedef struct {
    void* data;
    struct {
        int32_t type, number;
    } device;
    int32_t dims;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct {
    struct {
        uint32_t major, minor;
    } version;
    void* previous;
    void *allocate, *to_managed, *from_managed;
    int (*read)(void* tensor, DLTensor* to);
    int (*current_stream)(int32_t device_type, int32_t device, void** stream);
} Exchange;

enum { DLPACK_VERSION = 1, FLOAT = 2, BFLOAT = 4 };

// ---- cuda.h, as far as it is used

enum { MOST_ATTRIBUTES = 2, ATTRIBUTE_BYTES = 72 };

typedef struct {
    unsigned grid[3], block[3], shared_bytes;
    void* stream;
    void* attributes;
    unsigned attribute_count;
} Config;

typedef int (*LaunchKernel)(const Config*, void* kernel, void** arguments, void** extra);
typedef int (*CurrentDevice)(int* device);

// ---- what is kept

enum { MOST_DIMS = 8, MOST_NUMBERS = 8, ALIGNMENT = 16 };

typedef struct {
    void* kernel;
    unsigned blocks, threads, shared_bytes, attribute_count, number_count;
    uint64_t attributes[MOST_ATTRIBUTES * ATTRIBUTE_BYTES / 8];
    uint64_t numbers[MOST_NUMBERS];
} Launch;

// All that a launch depends on. A result that is still to be made has no strides here.
typedef struct {
    int32_t dim, dims, device;
    uint8_t log, code, bits, has_out, misaligned_x, misaligned_out;
    int64_t sizes[3 * MOST_DIMS];
} Key;

typedef struct {
    PyObject_HEAD
    const Exchange* exchange;
    LaunchKernel launch;
    CurrentDevice current_device;
    int device_type;
    Py_ssize_t at_most;
    PyObject *given;  // what it was made with, which holds the next seven
    PyObject *tensor, *empty_like, *wrote, *wants_gradients, *is_negated, *idle, *idle_16;
    PyObject *requires_grad, *launches;
    Key last_key;  // of the launch that was asked for last, which most often is asked for again
    Launch last;
} Calls;

// ---- tensors

static int64_t address(const DLTensor* x) { return (int64_t)x->data + (int64_t)x->byte_offset; }

// With the strides that torch gives a new one, also where they move nothing.
static int is_contiguous(const DLTensor* x) {
    int64_t expected = 1;
    for (int i = x->dims - 1; i >= 0; i--) {
        if (x->strides[i] != expected) return 0;
        expected *= x->shape[i] ? x->shape[i] : 1;
    }
    return 1;
}

// From the first byte of a tensor's numbers to behind the last.
static int64_t span_bytes(const DLTensor* x) {
    int64_t last = 0;
    for (int i = 0; i < x->dims; i++) {
        if (!x->shape[i]) return 0;
        last += (x->shape[i] - 1) * x->strides[i];
    }
    return (last + 1) * (x->dtype.bits / 8);
}

static int same_sizes(const int64_t* a, const int64_t* b, int count) {
    return !memcmp(a, b, count * sizeof *a);
}

static int overlap(const DLTensor* x, const DLTensor* out) {
    int64_t distance = address(out) - address(x);
    if (!distance && same_sizes(x->strides, out->strides, x->dims)) return 0;  // in place
    return -span_bytes(out) < distance && distance < span_bytes(x);
}

// Whether torch has to follow what is computed of a tensor.
static int needs_gradient(const Calls* calls, PyObject* object) {
    PyObject* answer = PyObject_GetAttr(object, calls->requires_grad);
    Py_XDECREF(answer);  // True and False stay
    if (answer == Py_False) return 0;
    answer = PyObject_CallNoArgs(calls->wants_gradients);
    Py_XDECREF(answer);
    return answer != Py_False;
}

static int is_negated(const Calls* calls, PyObject* object) {
    PyObject* answer = PyObject_CallOneArg(calls->is_negated, object);
    Py_XDECREF(answer);
    return answer != Py_False;
}

// A plain tensor of ours, of which torch follows nothing and that has numbers in memory, as zeros that nobody wrote have
// not. Never leaves an exception behind.
static int read_tensor(const Calls* calls, PyObject* object, DLTensor* x) {
    if ((PyObject*)Py_TYPE(object) != calls->tensor) return 0;
    if (needs_gradient(calls, object) || is_negated(calls, object) ||
        calls->exchange->read(object, x)) {
        PyErr_Clear();
        return 0;
    }
    int is_ours = (x->dtype.code == FLOAT && (x->dtype.bits == 32 || x->dtype.bits == 16)) ||
                  (x->dtype.code == BFLOAT && x->dtype.bits == 16);
    return is_ours && x->device.type == calls->device_type && x->dims <= MOST_DIMS &&
           (x->strides || !x->dims) && x->data;
}

// Fill `key` from the arguments of a call; 0 where Python has to see to it.
static int read_call(const Calls* calls, PyObject* object, PyObject* result, long dim, int log,
                     DLTensor* x, DLTensor* out, Key* key) {
    if (!read_tensor(calls, object, x)) return 0;
    memset(key, 0, sizeof *key);  // keys are compared as bytes, with those between their fields
    key->dim = (int32_t)dim;
    key->dims = x->dims;
    key->device = x->device.number;
    key->log = log != 0;
    key->code = x->dtype.code;
    key->bits = x->dtype.bits;
    key->misaligned_x = address(x) % ALIGNMENT;
    size_t bytes = x->dims * sizeof *key->sizes;
    memcpy(key->sizes, x->shape, bytes);
    memcpy(key->sizes + MOST_DIMS, x->strides, bytes);
    if (result == Py_None) return is_contiguous(x);
    if (!read_tensor(calls, result, out)) return 0;
    if (out->dims != x->dims || !same_sizes(out->shape, x->shape, x->dims) ||
        out->device.number != x->device.number || out->dtype.code != x->dtype.code ||
        out->dtype.bits != x->dtype.bits || overlap(x, out))
        return 0;
    key->has_out = 1;
    key->misaligned_out = address(out) % ALIGNMENT;
    memcpy(key->sizes + 2 * MOST_DIMS, out->strides, bytes);
    return 1;
}

static int are_idle(PyObject* pairs) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); i++) {
        PyObject* pair = PyTuple_GET_ITEM(pairs, i);
        PyObject* answer = PyObject_CallNoArgs(PyTuple_GET_ITEM(pair, 0));
        Py_XDECREF(answer);  // small numbers, None and False stay
        if (answer != PyTuple_GET_ITEM(pair, 1)) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

// ---- calls

static PyObject* key_object(const Key* key) {
    return PyBytes_FromStringAndSize((const char*)key, sizeof *key);
}

// The launch that was kept for `key`; 0 where there is none, or with an exception.
static int find(Calls* calls, const Key* key, Launch* launch) {
    if (memcmp(key, &calls->last_key, sizeof *key)) {
        PyObject* name = key_object(key);
        PyObject* kept = name ? PyDict_GetItemWithError(calls->launches, name) : NULL;
        Py_XDECREF(name);
        if (!kept) return 0;
        memcpy(&calls->last, PyBytes_AS_STRING(kept), sizeof calls->last);
        memcpy(&calls->last_key, key, sizeof *key);
    }
    *launch = calls->last;
    return 1;
}

// Queue it on the current stream; the driver's status, or 1 without one.
static int queue(const Calls* calls, Launch* launch, const DLTensor* x, int64_t to) {
    uint64_t values[3 + MOST_NUMBERS] = {(uint64_t)address(x), 0, (uint64_t)to};
    void* arguments[3 + MOST_NUMBERS];
    memcpy(values + 3, launch->numbers, sizeof launch->numbers);
    for (unsigned i = 0; i < 3 + launch->number_count; i++) arguments[i] = &values[i];
    Config config = {{launch->blocks, 1, 1}, {launch->threads, 1, 1}, launch->shared_bytes, NULL,
                     launch->attributes, launch->attribute_count};
    int32_t device = x->device.number;
    if (calls->exchange->current_stream(calls->device_type, device, &config.stream)) {
        PyErr_Clear();
        return 1;
    }
    int status;
    Py_BEGIN_ALLOW_THREADS  // the driver waits where too much is queued
    status = calls->launch(&config, launch->kernel, arguments, NULL);
    Py_END_ALLOW_THREADS
    return status;
}

static int tell_of(const Calls* calls, PyObject* written) {
    PyObject* tensors = PyTuple_Pack(1, written);
    PyObject* answer = tensors ? PyObject_CallOneArg(calls->wrote, tensors) : NULL;
    Py_XDECREF(tensors);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

static PyObject* run(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    Calls* calls = (Calls*)self;
    if (count != 4 || !PyLong_CheckExact(arguments[2])) Py_RETURN_NONE;
    PyObject *object = arguments[0], *result = arguments[1];
    long dim = PyLong_AsLong(arguments[2]);
    int log = arguments[3] == Py_True, device;
    if (dim < -MOST_DIMS || dim >= MOST_DIMS) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    DLTensor x, out;
    Key key;
    Launch launch;
    if (!read_call(calls, object, result, dim, log, &x, &out, &key) || !are_idle(calls->idle) ||
        (x.dtype.bits == 16 && !are_idle(calls->idle_16)) || calls->current_device(&device) ||
        device != x.device.number)
        Py_RETURN_NONE;
    if (!find(calls, &key, &launch)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    if (result != Py_None) {
        if (queue(calls, &launch, &x, address(&out))) Py_RETURN_NONE;  // Python says what is wrong
        return tell_of(calls, result) ? NULL : Py_NewRef(result);
    }
    result = PyObject_CallOneArg(calls->empty_like, object);
    if (!result) return NULL;
    if (calls->exchange->read(result, &out)) {
        Py_DECREF(result);
        return NULL;
    }
    if (queue(calls, &launch, &x, address(&out))) {
        Py_DECREF(result);
        Py_RETURN_NONE;
    }
    return result;
}

static PyObject* keep(PyObject* self, PyObject* arguments) {
    Calls* calls = (Calls*)self;
    PyObject *object, *result, *numbers;
    int dim, log;
    unsigned long long kernel;
    Launch launch = {0};
    Py_buffer attributes;
    if (!PyArg_ParseTuple(arguments, "OOipKIIIy*O!:keep", &object, &result, &dim, &log, &kernel,
                          &launch.blocks, &launch.threads, &launch.shared_bytes, &attributes,
                          &PyTuple_Type, &numbers))
        return NULL;
    Py_ssize_t bytes = attributes.len;
    int fits = bytes <= (Py_ssize_t)sizeof launch.attributes && bytes % ATTRIBUTE_BYTES == 0 &&
               PyTuple_GET_SIZE(numbers) <= MOST_NUMBERS;
    if (fits) memcpy(launch.attributes, attributes.buf, bytes);
    PyBuffer_Release(&attributes);
    if (!fits)
        return PyErr_Format(PyExc_ValueError, "A launch has too many attributes or numbers.");
    launch.kernel = (void*)(uintptr_t)kernel;
    launch.attribute_count = (unsigned)(bytes / ATTRIBUTE_BYTES);
    launch.number_count = (unsigned)PyTuple_GET_SIZE(numbers);
    for (unsigned i = 0; i < launch.number_count; i++)
        launch.numbers[i] = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(numbers, i));
    if (PyErr_Occurred()) return NULL;

    DLTensor x, out;
    Key key;
    if (!read_call(calls, object, result, dim, log, &x, &out, &key)) Py_RETURN_NONE;
    if (PyDict_GET_SIZE(calls->launches) >= calls->at_most) PyDict_Clear(calls->launches);
    memset(&calls->last_key, 0, sizeof calls->last_key);  // of no call: none has 0 bits
    PyObject* name = key_object(&key);
    PyObject* kept = PyBytes_FromStringAndSize((const char*)&launch, sizeof launch);
    int failed = !name || !kept || PyDict_SetItem(calls->launches, name, kept);
    Py_XDECREF(name);
    Py_XDECREF(kept);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

// ---- the type

static int init(PyObject* self, PyObject* arguments, PyObject* words) {
    Calls* calls = (Calls*)self;
    unsigned long long launch, current_device;
    PyObject* capsule;
    if (!PyArg_ParseTuple(arguments, "OKKiOOOOOO!O!n", &capsule, &launch, &current_device,
                          &calls->device_type, &calls->tensor, &calls->empty_like, &calls->wrote,
                          &calls->wants_gradients, &calls->is_negated, &PyTuple_Type, &calls->idle,
                          &PyTuple_Type, &calls->idle_16, &calls->at_most))
        return -1;
    calls->exchange = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (!calls->exchange) return -1;
    if (calls->exchange->version.major != DLPACK_VERSION || !calls->exchange->read)
        return PyErr_Format(PyExc_ValueError, "torch offers another version of DLPack."), -1;
    calls->launch = (LaunchKernel)(uintptr_t)launch;
    calls->current_device = (CurrentDevice)(uintptr_t)current_device;
    calls->given = Py_NewRef(arguments);
    calls->requires_grad = PyUnicode_InternFromString("requires_grad");
    calls->launches = PyDict_New();
    return calls->requires_grad && calls->launches ? 0 : -1;
}

static void dealloc(PyObject* self) {
    Calls* calls = (Calls*)self;
    Py_XDECREF(calls->given);
    Py_XDECREF(calls->requires_grad);
    Py_XDECREF(calls->launches);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, NULL},
    {"keep", keep, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject calls_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "softmax_lib.ops._calls.Calls",
    .tp_basicsize = sizeof(Calls),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = init,
    .tp_dealloc = dealloc,
    .tp_methods = methods,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_calls", .m_size = -1};

PyMODINIT_FUNC PyInit__calls(void) {
    PyObject* made = PyModule_Create(&module);
    if (!made || PyModule_AddType(made, &calls_type)) {
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}
