// widemargin._core, mixtures of experts: balanced partitions.
#include "arrays.hpp"
#include "widemargin/mixture/assignment.hpp"

namespace widemargin {
namespace {

std::int64_t assign_experts(Matrix<const double> scores, Vector<std::int64_t> room,
                            Vector<std::int64_t> partition) {
    require(room.shape(0) == scores.shape(1), "room must have one entry per expert");
    require(partition.shape(0) == scores.shape(0), "partition must have one entry per example");
    const Preferences preferences{scores.shape(0), scores.shape(1), scores.data()};
    nb::gil_scoped_release release;
    return static_cast<std::int64_t>(assign(preferences, room.data(), partition.data()));
}

}  // namespace

void bind_mixtures(nb::module_& m) {
    m.def("assign_experts", &assign_experts, "scores"_a.noconvert(), "room"_a.noconvert(),
          "partition"_a.noconvert());
}

}  // namespace widemargin
