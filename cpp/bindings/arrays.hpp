// What all bindings share: NumPy arrays, checks, and names that become enumerations.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "widemargin/dispatch/loops.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace widemargin {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class Array>
auto* data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

// The value of this name; an unknown name is an error that lists the known ones.
template <class Value, std::size_t n>
Value named(const char* parameter, const std::string& name,
            const std::pair<const char*, Value> (&names)[n]) {
    std::string known;
    for (std::size_t i = 0; i < n; ++i) {
        if (name == names[i].first) return names[i].second;
        known += (i == 0 ? "'" : i + 1 < n ? ", '" : " or '") + std::string(names[i].first) + "'";
    }
    throw std::invalid_argument(std::string(parameter) + "='" + name + "' is unknown; use " +
                                known);
}

// At most one thread per CPU: OpenMP ends the process when it cannot start as many as it should.
inline int at_most_one_per_cpu(int threads) {
    const unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
    return std::clamp(threads, 1, static_cast<int>(cpus));
}

// Shows Python's garbage collector the objects that an instance owns.
//
// An object that Python owns may refer back to the instance. Without this, the two would keep each
// other alive forever, and nanobind would report the instance as leaked when Python exits. `T` has
// two functions: visit_owners(visitor), which calls visitor(object) once for each reference that it
// owns, and drop_owners(), which releases them.
struct OwnerVisitor {
    visitproc visit;
    void* arg;
    int result = 0;

    void operator()(nb::handle object) {
        if (result == 0 && object.ptr()) result = visit(object.ptr(), arg);
    }
};

template <class T>
nb::type_slots collected() {
    static PyType_Slot slots[] = {
        {Py_tp_traverse,
         reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) -> int {
             OwnerVisitor visitor{visit, arg};
             visitor(reinterpret_cast<PyObject*>(Py_TYPE(self)));
             if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->visit_owners(visitor);
             return visitor.result;
         })},
        {Py_tp_clear, reinterpret_cast<void*>(+[](PyObject* self) -> int {
             if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->drop_owners();
             return 0;
         })},
        {0, nullptr}};
    return nb::type_slots(slots);
}

using TallyTuple = std::tuple<std::int64_t, double, double, double>;

inline TallyTuple as_tuple(const Tally& tally) {
    return {tally.updates, tally.criterion, tally.errors, tally.weight};
}

// The criterion of this name (linear.cpp).
Criterion criterion_of(const std::string& name, double parameter);

// Each adds the functions and classes of one folder to the module.
void bind_rows(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_svm(nb::module_& m);
void bind_committees(nb::module_& m);
void bind_networks(nb::module_& m);
void bind_mixtures(nb::module_& m);

}  // namespace widemargin
