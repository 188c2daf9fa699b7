// Forward and backward through the layers of a network, for a chunk of examples.
//
//   forward    H^(k+1) = h(H^k W^k + b^k)
//   backward   D^k = (D^(k+1) W^k') * h'(H^k),   dW^k = H^k' D^(k+1),   db^k = 1' D^(k+1)
//
// starting with D = dQ/df. Every function computes a block: some examples and some units. Blocks
// can be computed in parallel if those that they need are done.
#pragma once

#include "widemargin/mlp/network_criteria.hpp"
#include "widemargin/mlp/network_dropout.hpp"
#include "widemargin/mlp/network_inputs.hpp"
#include "widemargin/mlp/network_transfer.hpp"

namespace widemargin::WIDEMARGIN_ISA {

template <class T>
struct LayerView {
    std::size_t inputs, outputs;
    std::size_t first;  // where W is in the parameters

    std::size_t bias() const { return first + inputs * outputs; }
    std::size_t end() const { return bias() + outputs; }
};

template <class T>
Vector<LayerView<T>> layers_of(const Network& network) {
    Vector<LayerView<T>> layers;
    std::size_t first = 0;
    for (std::size_t k = 0; k < network.layers; ++k) {
        const auto inputs = static_cast<std::size_t>(network.units[k]);
        const auto outputs = static_cast<std::size_t>(network.units[k + 1]);
        layers.push_back({inputs, outputs, first});
        first = layers.back().end();
    }
    return layers;
}

// C = A B + beta C for blocks of matrices in C order, where A is m x k and B is k x n after the
// transpositions asked for. BLAS, whose matrices are in Fortran's order, computes C' = B' A'.
template <class T>
struct Gemm {
    using Function = void (*)(const char*, const char*, const int*, const int*, const int*,
                              const T*, const T*, const int*, const T*, const int*, const T*, T*,
                              const int*);
    Function call;

    // A block, and the width of the matrix that it is part of.
    struct Block {
        const T* data;
        std::size_t width;
        bool transposed = false;
    };

    void operator()(std::size_t m, std::size_t n, std::size_t k, Block a, Block b, T beta, T* c,
                    std::size_t c_width) const {
        const int rows = static_cast<int>(m), columns = static_cast<int>(n);
        const int inner = static_cast<int>(k), ldc = static_cast<int>(c_width);
        const int lda = static_cast<int>(a.width), ldb = static_cast<int>(b.width);
        const char *trans_a = a.transposed ? "T" : "N", *trans_b = b.transposed ? "T" : "N";
        const T one{1};
        call(trans_b, trans_a, &columns, &rows, &inner, &one, b.data, &ldb, a.data, &lda, &beta, c,
             &ldc);
    }
};

struct Range {
    std::size_t first, last;

    std::size_t count() const { return last - first; }

    // The i-th of `parts` parts of 0..count-1.
    static Range part(std::size_t count, std::size_t i, std::size_t parts) {
        return {count * i / parts, count * (i + 1) / parts};
    }
};

// The layers of a chunk of examples, which are numbered from 0 in the order given.
template <class T>
class BackPropagation {
   public:
    BackPropagation(const Network& network, const NetworkInputs& inputs, std::size_t rows)
        : transfer_(network.transfer),
          gemm_{reinterpret_cast<typename Gemm<T>::Function>(const_cast<void*>(network.gemm))},
          layers_(layers_of<T>(network)),
          inputs_(inputs),
          values_(layers_.size() + 1),
          sums_(layers_.size() + 1),
          deltas_(layers_.size() + 1),
          complete_(layers_.size() + 1),
          base_(inputs.sparse() ? layers_[0].outputs : 0) {
        for (std::size_t k = inputs.sparse() ? 1 : 0; k <= layers_.size(); ++k) {
            const std::size_t size = rows * static_cast<std::size_t>(network.units[k]);
            const bool hidden = k > 0 && k < layers_.size();
            values_[k].resize(size);
            if (hidden && slope_needs_sum(transfer_)) sums_[k].resize(size);
        }
    }

    // Makes room for `backward`, and for outputs of hidden units before dropout.
    void prepare_backward(bool dropout) {
        for (std::size_t k = 1; k < layers_.size(); ++k) {
            deltas_[k].resize(values_[k].size());
            if (dropout) complete_[k].resize(values_[k].size());
        }
    }

    // Leaves out some outputs of layer k, if it is hidden.
    void leave_out(const Dropout& dropout, std::size_t k, Range rows, Range units) {
        if (k + 1 == layers_.size()) return;
        const std::size_t width = layers_[k].outputs;
        for (std::size_t i = rows.first; i < rows.last; ++i) {
            T* h = values_[k + 1].data() + i * width + units.first;
            std::copy(h, h + units.count(), complete_[k + 1].data() + i * width + units.first);
            dropout(k, i, units.first, units.count(), h);
        }
    }

    // Computes c W of sparse inputs for these units; needed when the parameters have changed.
    void centre(const T* parameters, Range units) {
        const std::size_t n = layers_[0].outputs;
        T* base = base_.data() + units.first;
        std::fill(base, base_.data() + units.last, T{0});
        for (std::size_t j = 0; j < inputs_.width(); ++j) {
            const T c = static_cast<T>(inputs_.centre(j));
            if (c != T{0}) axpy(units.count(), c, parameters + j * n + units.first, base);
        }
    }

    // Reads the inputs of some examples, unless they are sparse.
    void gather(const std::int64_t* order, Range rows) {
        if (inputs_.sparse()) return;
        inputs_.gather(order + rows.first, rows.count(),
                       values_[0].data() + rows.first * layers_[0].inputs);
    }

    // The outputs of some units of layer k for some examples; all units, if the inputs are sparse.
    void forward(const T* parameters, const std::int64_t* order, std::size_t k, Range rows,
                 Range units) {
        if (rows.count() == 0 || units.count() == 0) return;
        const auto& layer = layers_[k];
        const T *w = parameters + layer.first, *b = parameters + layer.bias();
        const T* h = values_[k].data() + rows.first * layer.inputs;
        const std::size_t at = rows.first * layer.outputs + units.first;
        T* out = values_[k + 1].data() + at;
        if (k == 0 && inputs_.sparse()) {
            sparse_product(w, order + rows.first, rows.count(), out);
        } else if (layer.outputs == 1) {
            for (std::size_t i = 0; i < rows.count(); ++i) {
                out[i] = dot(layer.inputs, h + i * layer.inputs, w);
            }
        } else {
            gemm_(rows.count(), units.count(), layer.inputs, {h, layer.inputs},
                  {w + units.first, layer.outputs}, T{0}, out, layer.outputs);
        }
        const bool hidden = k + 1 < layers_.size();
        T* sums = sums_[k + 1].empty() ? nullptr : sums_[k + 1].data() + at;
        apply_transfer(hidden ? transfer_ : Transfer::identity, rows.count(), units.count(),
                       layer.outputs, b + units.first, out, sums);
    }

    // D of some inputs of layer k > 0 for some examples; adds the sums over these examples, which
    // are the gradient of the biases below, to `sums`, one entry per input.
    void backward(const T* parameters, std::size_t k, Range rows, Range units,
                  const Dropout& dropout, T* sums) {
        if (rows.count() == 0 || units.count() == 0) return;
        const auto& layer = layers_[k];
        const T* w = parameters + layer.first + units.first * layer.outputs;
        const T* delta = delta_of(k + 1) + rows.first * layer.outputs;
        const std::size_t at = rows.first * layer.inputs + units.first;
        T* below = deltas_[k].data() + at;
        if (layer.outputs == 1) {
            outer(rows.count(), units.count(), delta, w, below, layer.inputs);
        } else {
            gemm_(rows.count(), units.count(), layer.outputs, {delta, layer.outputs},
                  {w, layer.outputs, true}, T{0}, below, layer.inputs);
        }
        const T* h = (dropout.active() ? complete_[k] : values_[k]).data() + at;
        for (std::size_t i = 0; dropout.active() && i < rows.count(); ++i) {
            dropout(k - 1, rows.first + i, units.first, units.count(), below + i * layer.inputs);
        }
        apply_slopes(transfer_, rows.count(), units.count(), layer.inputs, h,
                     sums_[k].empty() ? nullptr : sums_[k].data() + at, below, sums + units.first);
    }

    // The gradient of the weights of layer k between some inputs and some units, for `count`
    // examples: it overwrites dW, or is added to it. All inputs, if they are sparse.
    void gradient(const std::int64_t* order, std::size_t count, std::size_t k, Range from, Range to,
                  bool add, T* dw) const {
        const auto& layer = layers_[k];
        const T *h = values_[k].data() + from.first, *delta = delta_of(k + 1) + to.first;
        dw += from.first * layer.outputs + to.first;
        if (k == 0 && inputs_.sparse()) {
            sparse_gradient(order, count, to.count(), delta, add, dw);
        } else if (layer.outputs == 1) {
            if (!add) std::fill(dw, dw + from.count(), T{0});
            for (std::size_t i = 0; i < count; ++i) {
                if (delta[i] != T{0}) axpy(from.count(), delta[i], h + i * layer.inputs, dw);
            }
        } else {
            gemm_(from.count(), to.count(), count, {h, layer.inputs, true}, {delta, layer.outputs},
                  add ? T{1} : T{0}, dw, layer.outputs);
        }
    }

    // Adds c (1' D) of sparse inputs, where 1' D is the gradient of the biases.
    void add_centre(Range units, const T* bias_gradient, T* dw) const {
        const std::size_t n = layers_[0].outputs;
        for (std::size_t j = 0; j < inputs_.width(); ++j) {
            const T c = static_cast<T>(inputs_.centre(j));
            const std::size_t first = units.first;
            if (c != T{0}) axpy(units.count(), c, bias_gradient + first, dw + j * n + first);
        }
    }

    bool sparse() const { return inputs_.sparse(); }
    const Vector<LayerView<T>>& layers() const { return layers_; }
    std::size_t outputs() const { return layers_.back().outputs; }
    T* output(std::size_t row) { return values_.back().data() + row * outputs(); }

   private:
    // D of the outputs, which replace f, or of hidden units
    const T* delta_of(std::size_t k) const {
        return k == layers_.size() ? values_[k].data() : deltas_[k].data();
    }

    static T dot(std::size_t n, const T* a, const T* b) {
        T sum{0};
#pragma omp simd reduction(+ : sum)
        for (std::size_t j = 0; j < n; ++j) sum += a[j] * b[j];
        return sum;
    }

    static void outer(std::size_t count, std::size_t n, const T* delta, const T* w, T* out,
                      std::size_t width) {
        for (std::size_t i = 0; i < count; ++i) {
            T* row = out + i * width;
            const T d = delta[i];
#pragma omp simd
            for (std::size_t j = 0; j < n; ++j) row[j] = d * w[j];
        }
    }

    void sparse_product(const T* w, const std::int64_t* order, std::size_t count, T* out) const {
        const std::size_t n = layers_[0].outputs;
        for (std::size_t i = 0; i < count; ++i) {
            T* row = out + i * n;
            std::copy(base_.begin(), base_.end(), row);
            inputs_.for_nonzeros(static_cast<std::size_t>(order[i]), [&](std::size_t j, double x) {
                axpy(n, static_cast<T>(x), w + j * n, row);
            });
        }
    }

    void sparse_gradient(const std::int64_t* order, std::size_t count, std::size_t units,
                         const T* delta, bool add, T* dw) const {
        const std::size_t n = layers_[0].outputs;
        for (std::size_t j = 0; !add && j < inputs_.width(); ++j) {
            std::fill(dw + j * n, dw + j * n + units, T{0});
        }
        for (std::size_t i = 0; i < count; ++i) {
            inputs_.for_nonzeros(static_cast<std::size_t>(order[i]), [&](std::size_t j, double x) {
                axpy(units, static_cast<T>(x), delta + i * n, dw + j * n);
            });
        }
    }

    Transfer transfer_;
    Gemm<T> gemm_;
    Vector<LayerView<T>> layers_;
    const NetworkInputs& inputs_;
    Vector<Vector<T>> values_, sums_, deltas_;  // of each layer: H^k, sums where h' needs them, D^k
    Vector<Vector<T>> complete_;                // H^k of hidden layers before dropout
    Vector<T> base_;                            // c W of sparse inputs
};

}  // namespace widemargin::WIDEMARGIN_ISA
