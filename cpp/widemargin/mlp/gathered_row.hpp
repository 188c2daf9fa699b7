// An example as panels of units read it: floats, and the row of a panel that each belongs to.
//
// The sparse inputs of packed examples are scaled but not centred, xh = z - c (packed_rows.hpp). So
// that a visit touches only non-zero inputs, the weights of a unit are kept as v = u - t c during a
// pass:
//
//   v . xh + a = u . z + o - t s          with  o = a - u . c,   s = c . (z - c)
//   v += delta xh,  a += delta:    u += delta z,   t += delta,   o += delta (1 - s - c . c)
//
// The row behind the inputs holds o, the last row t. An example ends with two inputs for them: 1
// and -s when it is read, 1 - s - c . c and 1 when it is learnt.
#pragma once

#include "widemargin/base/vector.hpp"
#include "widemargin/mlp/committee_types.hpp"
#include "widemargin/rows/packed_rows.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// The standardisation, the same for all examples of a pass.
struct Centring {
    const double* mean;        // of dense inputs; c of packed ones
    Vector<double> precision;  // 1 / scale of dense inputs
    double c_dot_c = 0.0;      // packed inputs only
    std::size_t width;
    bool split;  // whether t accounts for c

    Centring(const Rows& rows, const Standardization& s)
        : mean(s.mean), width(rows.width), split(s.mean && rows.layout == Layout::packed) {
        if (split) c_dot_c = dot(mean, mean, width);
        if (s.scale) {
            precision.resize(width);
            for (std::size_t j = 0; j < width; ++j) precision[j] = 1.0 / s.scale[j];
        }
    }
};

class GatheredRow {
   public:
    explicit GatheredRow(const Centring& centring)
        : centring_(centring),
          values_(centring.width + kExtraRows),
          rows_(centring.width + kExtraRows) {}

    void read(const PackedRow& row) {
        count_ = 0;
        for (std::size_t j = 0; j < row.dense.width; ++j) add(row.dense.x[j], j);
        for (std::size_t i = 0; i < row.sparse.count; ++i) {
            add(row.sparse.x[i], static_cast<std::size_t>(row.sparse.j[i]));
        }
        shift_ = centring_.split ? row.header.shift : 0.0;
        add_extra();
    }

    template <class T>
    void read(const DenseRow<T>& row) {
        count_ = 0;
        for (std::size_t j = 0; j < row.width; ++j) {
            if (centring_.mean) {
                add((row.x[j] - centring_.mean[j]) * centring_.precision[j], j);
            } else if (row.x[j] != T{0}) {
                add(row.x[j], j);
            }
        }
        add_extra();
    }

    // Changes the last two inputs from those of reading to those of learning.
    void prepare_step() {
        if (centring_.split) {
            values_[count_ - 2] = static_cast<float>(1.0 - shift_ - centring_.c_dot_c);
            values_[count_ - 1] = 1.0f;
        }
    }

    std::size_t count() const { return count_; }
    float value(std::size_t i) const { return values_[i]; }
    const float* row(const float* panel, std::size_t i) const { return panel + rows_[i]; }
    float* row(float* panel, std::size_t i) const { return panel + rows_[i]; }

   private:
    void add(double value, std::size_t row) {
        values_[count_] = static_cast<float>(value);
        rows_[count_++] = row * kPanelUnits;
    }
    void add_extra() {
        add(1.0, centring_.width);
        if (centring_.split) add(-shift_, centring_.width + 1);
    }

    const Centring& centring_;
    Vector<float> values_;
    Vector<std::size_t> rows_;
    std::size_t count_ = 0;
    double shift_ = 0.0;
};

}  // namespace widemargin::WIDEMARGIN_ISA
