// How the parameters follow their gradient g, in one pass over parameters and moments.
//
//   sgd     v <- m v - lambda g,  theta <- theta + v           (Nesterov: theta + m v - lambda g)
//   adam    p <- b1 p + (1 - b1) g,  q <- b2 q + (1 - b2) g^2,
//           theta <- theta - lambda p^ / (sqrt q^ + epsilon),  p^ = p / (1 - b1^t), q^ likewise
//   adamw   theta <- theta - lambda decay theta, then as adam
//
// For sgd and adam weight decay is part of g: g + decay theta.
#pragma once

#include <algorithm>
#include <cmath>

#include "widemargin/mlp/network_layers.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr std::size_t kChunkParameters = 2048;  // whose gradients are summed and used at once

template <class T>
class ParameterUpdates {
   public:
    // The gradients are summed and divided by the number of examples of a batch.
    ParameterUpdates(const Network& network, const NetworkStep& step, Vector<T*> gradients)
        : layers_(layers_of<T>(network)),
          step_(step),
          theta_(static_cast<T*>(network.parameters)),
          gradients_(std::move(gradients)) {}

    std::size_t count() const { return layers_.back().end(); }

    // Parameters first..last-1 make step t = 1, 2, ...
    void operator()(std::size_t first, std::size_t last, std::size_t examples, std::int64_t t) {
        const T mean = T{1} / static_cast<T>(examples);
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            const auto& layer = layers_[k];
            const double decay = k + 1 < layers_.size() ? step_.nu : step_.mu;
            update(std::max(first, layer.first), std::min(last, layer.bias()), mean, decay, t);
            update(std::max(first, layer.bias()), std::min(last, layer.end()), mean, 0.0, t);
        }
    }

   private:
    void update(std::size_t first, std::size_t last, T mean, double decay, std::int64_t t) {
        for (; first < last; first += kChunkParameters) {
            const std::size_t n = std::min(kChunkParameters, last - first);
            T* g = gradients_[0] + first;
            for (std::size_t i = 1; i < gradients_.size(); ++i) {
                axpy(n, T{1}, gradients_[i] + first, g);
            }
            if (step_.solver == UpdateRule::sgd) {
                momentum(n, first, mean, static_cast<T>(decay));
            } else {
                adam(n, first, mean, decay, t);
            }
        }
    }

    void momentum(std::size_t n, std::size_t first, T mean, T decay) {
        T *theta = theta_ + first, *v = static_cast<T*>(step_.first) + first;
        const T *g = gradients_[0] + first, m = static_cast<T>(step_.momentum);
        const T rate = static_cast<T>(step_.rate);
        const T ahead = step_.nesterov ? m : T{1}, plain = step_.nesterov ? rate : T{0};
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) {
            const T slope = mean * g[i] + decay * theta[i];
            v[i] = m * v[i] - rate * slope;
            theta[i] += ahead * v[i] - plain * slope;
        }
    }

    void adam(std::size_t n, std::size_t first, T mean, double decay, std::int64_t t) {
        T* theta = theta_ + first;
        T *p = static_cast<T*>(step_.first) + first, *q = static_cast<T*>(step_.second) + first;
        const T* g = gradients_[0] + first;
        const double steps = static_cast<double>(t);
        const T b1 = static_cast<T>(step_.beta_1), b2 = static_cast<T>(step_.beta_2);
        const T rate = static_cast<T>(step_.rate / (1.0 - std::pow(step_.beta_1, steps)));
        const T root = static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(step_.beta_2, steps)));
        const T epsilon = static_cast<T>(step_.epsilon);
        const bool apart = step_.solver == UpdateRule::adamw;
        const T shrink = static_cast<T>(apart ? 1.0 - step_.rate * decay : 1.0);
        const T inside = static_cast<T>(apart ? 0.0 : decay);
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) {
            const T slope = mean * g[i] + inside * theta[i];
            p[i] = b1 * p[i] + (T{1} - b1) * slope;
            q[i] = b2 * q[i] + (T{1} - b2) * slope * slope;
            theta[i] = shrink * theta[i] - rate * p[i] / (std::sqrt(q[i]) * root + epsilon);
        }
    }

    Vector<LayerView<T>> layers_;
    NetworkStep step_;
    T* theta_;
    Vector<T*> gradients_;
};

}  // namespace widemargin::WIDEMARGIN_ISA
