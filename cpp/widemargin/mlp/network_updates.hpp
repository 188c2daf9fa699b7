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

template <class T>
class ParameterUpdates {
   public:
    ParameterUpdates(const Network& network, const NetworkStep& step)
        : step_(step),
          theta_(static_cast<T*>(network.parameters)),
          p_(static_cast<T*>(step.first)),
          q_(static_cast<T*>(step.second)) {}

    // Prepares step t = 1, 2, ..., whose gradients are sums over so many examples.
    void begin(std::size_t examples, std::int64_t t) {
        mean_ = T{1} / static_cast<T>(examples);
        if (step_.solver == UpdateRule::sgd) return;
        const double steps = static_cast<double>(t);
        rate_ = static_cast<T>(step_.rate / (1.0 - std::pow(step_.beta_1, steps)));
        root_ = static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(step_.beta_2, steps)));
    }

    // Parameters first..last-1 follow their gradient g.
    void operator()(std::size_t first, std::size_t last, const T* g, double decay) const {
        if (step_.solver == UpdateRule::sgd) {
            momentum(last - first, first, g, static_cast<T>(decay));
        } else {
            adam(last - first, first, g, decay);
        }
    }

   private:
    void momentum(std::size_t n, std::size_t first, const T* g, T decay) const {
        T *theta = theta_ + first, *v = p_ + first;
        const T m = static_cast<T>(step_.momentum), mean = mean_;
        const T rate = static_cast<T>(step_.rate);
        const T ahead = step_.nesterov ? m : T{1}, plain = step_.nesterov ? rate : T{0};
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) {
            const T slope = mean * g[i] + decay * theta[i];
            v[i] = m * v[i] - rate * slope;
            theta[i] += ahead * v[i] - plain * slope;
        }
    }

    void adam(std::size_t n, std::size_t first, const T* g, double decay) const {
        T *theta = theta_ + first, *p = p_ + first, *q = q_ + first;
        const T b1 = static_cast<T>(step_.beta_1), b2 = static_cast<T>(step_.beta_2);
        const T rate = rate_, root = root_, mean = mean_;
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

    NetworkStep step_;
    T *theta_, *p_, *q_;
    T mean_{}, rate_{}, root_{};
};

}  // namespace widemargin::WIDEMARGIN_ISA
