// Forward and backward through the layers of a network, for a chunk of examples.
//
//   forward    H^(k+1) = h(H^k W^k + b^k)
//   backward   D^k = (D^(k+1) W^k') * h'(H^k),   dW^k = H^k' D^(k+1),   db^k = 1' D^(k+1)
//
// starting with D = dQ/df. One thread; the layers of a chunk are small enough to stay in the cache.
#pragma once

#include "widemargin/mlp/network_criteria.hpp"
#include "widemargin/mlp/network_inputs.hpp"
#include "widemargin/mlp/network_transfer.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr std::size_t kChunkExamples = 256;  // at most

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

// C = A B + beta C for matrices in C order, where A is m x k and B is k x n after the
// transpositions asked for. BLAS, whose matrices are in Fortran's order, computes C' = B' A'.
template <class T>
struct Gemm {
    using Function = void (*)(const char*, const char*, const int*, const int*, const int*,
                              const T*, const T*, const int*, const T*, const int*, const T*, T*,
                              const int*);
    Function call;

    void operator()(bool a_is_transposed, bool b_is_transposed, std::size_t m, std::size_t n,
                    std::size_t k, const T* a, const T* b, T beta, T* c) const {
        const int rows = static_cast<int>(m), columns = static_cast<int>(n);
        const int inner = static_cast<int>(k);
        const int lda = a_is_transposed ? rows : inner, ldb = b_is_transposed ? inner : columns;
        const char *trans_a = a_is_transposed ? "T" : "N", *trans_b = b_is_transposed ? "T" : "N";
        const T one{1};
        call(trans_b, trans_a, &columns, &rows, &inner, &one, b, &ldb, a, &lda, &beta, c, &columns);
    }
};

template <class T>
class BackPropagation {
   public:
    BackPropagation(const Network& network, const NetworkInputs& inputs, std::size_t rows)
        : transfer_(network.transfer),
          gemm_{reinterpret_cast<typename Gemm<T>::Function>(const_cast<void*>(network.gemm))},
          layers_(layers_of<T>(network)),
          inputs_(inputs),
          values_(layers_.size() + 1),
          sums_(layers_.size() + 1) {
        std::size_t widest = 1;
        for (std::size_t k = inputs.sparse() ? 1 : 0; k <= layers_.size(); ++k) {
            const auto units = static_cast<std::size_t>(network.units[k]);
            values_[k].resize(rows * units);
            if (k > 0 && k < layers_.size()) {
                widest = std::max(widest, units);
                if (transfer_ == Transfer::slanted_tanh) sums_[k].resize(rows * units);
            }
        }
        deltas_[0].resize(rows * widest);
        deltas_[1].resize(rows * widest);
        if (inputs.sparse()) base_.resize(layers_[0].outputs);
    }

    // Computes c W of sparse inputs; call it when the parameters have changed.
    void begin(const T* parameters) {
        if (!inputs_.sparse()) return;
        const std::size_t n = layers_[0].outputs;
        std::fill(base_.begin(), base_.end(), T{0});
        for (std::size_t j = 0; j < inputs_.width(); ++j) {
            const T c = static_cast<T>(inputs_.centre(j));
            if (c != T{0}) axpy(n, c, parameters + j * n, base_.data());
        }
    }

    // f of `count` examples: count x outputs, valid until the next call
    T* forward(const T* parameters, const std::int64_t* order, std::size_t count) {
        if (!inputs_.sparse()) inputs_.gather(order, count, values_[0].data());
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            const auto& layer = layers_[k];
            const T *w = parameters + layer.first, *b = parameters + layer.bias();
            T* out = values_[k + 1].data();
            if (k == 0 && inputs_.sparse()) {
                sparse_product(w, order, count, out);
            } else if (layer.outputs == 1) {
                for (std::size_t i = 0; i < count; ++i) {
                    out[i] = dot(layer.inputs, values_[k].data() + i * layer.inputs, w);
                }
            } else {
                gemm_(false, false, count, layer.outputs, layer.inputs, values_[k].data(), w, T{0},
                      out);
            }
            const bool hidden = k + 1 < layers_.size();
            apply_transfer(hidden ? transfer_ : Transfer::identity, count, layer.outputs, b, out,
                           sums_[k + 1].data());
        }
        return values_.back().data();
    }

    // Adds the gradient of these examples, whose outputs have become dQ/df, to `gradient`, or
    // overwrites it if they are the `first`.
    void backward(const T* parameters, const std::int64_t* order, std::size_t count, bool first,
                  T* gradient) {
        const T beta = first ? T{0} : T{1};
        T* delta = values_.back().data();
        if (first) clear(gradient);
        column_sums(count, layers_.back().outputs, delta, gradient + layers_.back().bias());
        for (std::size_t k = layers_.size(); k-- > 0;) {
            const auto& layer = layers_[k];
            T* dw = gradient + layer.first;
            const T *w = parameters + layer.first, *h = values_[k].data();
            if (k == 0 && inputs_.sparse()) {
                sparse_gradient(order, count, delta, dw);
            } else if (layer.outputs == 1) {
                for (std::size_t i = 0; i < count; ++i) {
                    if (delta[i] != T{0}) axpy(layer.inputs, delta[i], h + i * layer.inputs, dw);
                }
            } else {
                gemm_(true, false, layer.inputs, layer.outputs, count, h, delta, beta, dw);
            }
            if (k == 0) break;
            T* below = deltas_[k % 2].data();
            if (layer.outputs == 1) {
                outer(count, layer.inputs, delta, w, below);
            } else {
                gemm_(false, true, count, layer.inputs, layer.outputs, delta, w, T{0}, below);
            }
            apply_slopes(transfer_, count, layer.inputs, h, sums_[k].data(), below,
                         gradient + layers_[k - 1].bias());
            delta = below;
        }
    }

    // Adds c (1' D) of sparse inputs; call it when all chunks of a batch are done.
    void finish(T* gradient) const {
        if (!inputs_.sparse()) return;
        const std::size_t n = layers_[0].outputs;
        for (std::size_t j = 0; j < inputs_.width(); ++j) {
            const T c = static_cast<T>(inputs_.centre(j));
            if (c != T{0}) axpy(n, c, gradient + layers_[0].bias(), gradient + j * n);
        }
    }

    const Vector<LayerView<T>>& layers() const { return layers_; }
    std::size_t outputs() const { return layers_.back().outputs; }

   private:
    static T dot(std::size_t n, const T* a, const T* b) {
        T sum{0};
#pragma omp simd reduction(+ : sum)
        for (std::size_t j = 0; j < n; ++j) sum += a[j] * b[j];
        return sum;
    }

    // Writes zeros where products do not overwrite.
    void clear(T* gradient) const {
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            const auto& layer = layers_[k];
            const bool summed = layer.outputs == 1 || (k == 0 && inputs_.sparse());
            std::fill(gradient + (summed ? layer.first : layer.bias()), gradient + layer.end(),
                      T{0});
        }
    }

    static void column_sums(std::size_t count, std::size_t n, const T* delta, T* sums) {
        for (std::size_t i = 0; i < count; ++i) axpy(n, T{1}, delta + i * n, sums);
    }

    static void outer(std::size_t count, std::size_t n, const T* delta, const T* w, T* out) {
        for (std::size_t i = 0; i < count; ++i) {
            T* row = out + i * n;
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

    void sparse_gradient(const std::int64_t* order, std::size_t count, const T* delta,
                         T* dw) const {
        const std::size_t n = layers_[0].outputs;
        for (std::size_t i = 0; i < count; ++i) {
            inputs_.for_nonzeros(static_cast<std::size_t>(order[i]), [&](std::size_t j, double x) {
                axpy(n, static_cast<T>(x), delta + i * n, dw + j * n);
            });
        }
    }

    Transfer transfer_;
    Gemm<T> gemm_;
    Vector<LayerView<T>> layers_;
    const NetworkInputs& inputs_;
    Vector<Vector<T>> values_, sums_;  // of each layer: H^k, and sums where h' needs them
    Vector<T> deltas_[2];              // D of this layer and of the one below
    Vector<T> base_;
};

}  // namespace widemargin::WIDEMARGIN_ISA
