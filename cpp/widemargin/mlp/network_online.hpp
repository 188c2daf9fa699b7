// Stochastic gradient, one example per step (3.16):
//     theta <- theta - lambda (dQ/dtheta + decay theta)
//
// The weights are W = a U, with one factor a for all hidden layers and one for the output layer;
// the factors take the decay. In the first layer W = a (U + c t') for inputs x^ = x + c, with c the
// same for all examples (network_inputs.hpp). With u = c' U,
//     x^ W = a (x' U + u + (c.x + c.c) t)
// and the step W += x^ d' is  U += x d',  t += d,  u += (c.x) d:  zero inputs cost nothing.
#pragma once

#include "widemargin/base/team.hpp"
#include "widemargin/mlp/network_updates.hpp"

namespace widemargin::WIDEMARGIN_ISA {

template <class T>
class OnlineNetwork {
   public:
    OnlineNetwork(const Network& network, const NetworkInputs& inputs,
                  const NetworkTargets& targets)
        : targets_(targets),
          layers_(layers_of<T>(network)),
          transfer_(network.transfer),
          theta_(static_cast<T*>(network.parameters)),
          inputs_(inputs),
          values_(layers_.size() + 1),
          sums_(layers_.size() + 1),
          t_(layers_[0].outputs),
          u_(layers_[0].outputs),
          room_(targets.columns) {
        std::size_t widest = 0;
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            values_[k + 1].resize(layers_[k].outputs);
            sums_[k + 1].resize(layers_[k].outputs);
            widest = std::max(widest, layers_[k].outputs);
        }
        for (auto& delta : deltas_) delta.resize(widest);
        for (std::size_t j = 0; j < inputs.width(); ++j) {
            const double c = inputs.centre(j);
            centre_.push_back(static_cast<T>(c));
            squared_centre_ += c * c;
            if (c != 0.0) axpy(units(), static_cast<T>(c), theta_ + j * units(), u_.data());
        }
    }

    void visit(std::size_t l, const NetworkStep& step, Tally& tally) {
        load(l);
        forward();
        T* f = values_.back().data();
        const bool any = derive(targets_, values_.back().size(), l, f, room_.data(), tally);
        hidden_ *= 1.0 - step.rate * step.nu;
        output_ *= 1.0 - step.rate * step.mu;
        if (any) backward(static_cast<T>(step.rate), step.rate * step.nu, step.rate * step.mu);
        if (hidden_ < kSmallFactor || output_ < kSmallFactor) fold();
    }

    // Multiplies the factors into the weights, so that theta is the network again.
    void fold() {
        const std::size_t n = units();
        for (std::size_t j = 0; j < inputs_.width(); ++j) {
            if (centre_[j] != T{0}) axpy(n, centre_[j], t_.data(), theta_ + j * n);
        }
        for (std::size_t i = 0; i < n; ++i) {
            u_[i] += static_cast<T>(squared_centre_) * t_[i];
            u_[i] *= static_cast<T>(factor(0));
            t_[i] = T{0};
        }
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            const T a = static_cast<T>(factor(k));
            if (a == T{1}) continue;
            for (std::size_t i = layers_[k].first; i < layers_[k].bias(); ++i) theta_[i] *= a;
        }
        hidden_ = output_ = 1.0;
    }

   private:
    static constexpr double kSmallFactor = 1e-4;

    std::size_t units() const { return layers_[0].outputs; }
    double factor(std::size_t k) const { return k + 1 < layers_.size() ? hidden_ : output_; }

    // Reads the non-zero inputs of an example and computes c.x.
    void load(std::size_t l) {
        columns_.clear();
        x_.clear();
        double product = 0.0;
        inputs_.for_nonzeros(l, [&](std::size_t j, double x) {
            columns_.push_back(j);
            x_.push_back(static_cast<T>(x));
            product += inputs_.centre(j) * x;
        });
        product_ = product;
    }

    void forward() {
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            const std::size_t n = layers_[k].outputs;
            const T a = static_cast<T>(factor(k));
            T* z = values_[k + 1].data();
            if (k == 0) {
                first_sums(z);
            } else {
                sums_of_layer(layers_[k], values_[k].data(), z);
            }
            if (a != T{1}) {
                for (std::size_t i = 0; i < n; ++i) z[i] *= a;
            }
            apply_transfer(k + 1 < layers_.size() ? transfer_ : Transfer::identity, 1, n, n,
                           theta_ + layers_[k].bias(), z, sums_[k + 1].data());
        }
    }

    void first_sums(T* z) const {
        const std::size_t n = units();
        const T common = static_cast<T>(product_ + squared_centre_);
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) z[i] = u_[i] + common * t_[i];
        for (std::size_t i = 0; i < x_.size(); ++i) axpy(n, x_[i], theta_ + columns_[i] * n, z);
    }

    void sums_of_layer(const LayerView<T>& layer, const T* h, T* z) const {
        const T* weights = theta_ + layer.first;
        if (layer.outputs == 1) {
            T sum{0};
#pragma omp simd reduction(+ : sum)
            for (std::size_t i = 0; i < layer.inputs; ++i) sum += h[i] * weights[i];
            *z = sum;
            return;
        }
        std::fill(z, z + layer.outputs, T{0});
        for (std::size_t i = 0; i < layer.inputs; ++i) {
            if (h[i] != T{0}) axpy(layer.outputs, h[i], weights + i * layer.outputs, z);
        }
    }

    // This step has shrunk the factors by `nu` and `mu`, which back-propagation undoes.
    void backward(T rate, double nu, double mu) {
        T* delta = values_.back().data();
        for (std::size_t k = layers_.size(); k-- > 0;) {
            const auto& layer = layers_[k];
            const double a = factor(k), shrunk = 1.0 - (k + 1 < layers_.size() ? nu : mu);
            const T step = static_cast<T>(-rate / a);
            axpy(layer.outputs, -rate, delta, theta_ + layer.bias());
            if (k == 0) {
                first_step(step, delta);
                return;
            }
            T* below = deltas_[k % 2].data();
            step_of_layer(layer, values_[k].data(), step, delta, below);
            for (std::size_t i = 0; i < layer.inputs; ++i) below[i] *= static_cast<T>(a / shrunk);
            scratch_.assign(layer.inputs, T{0});
            apply_slopes(transfer_, 1, layer.inputs, layer.inputs, values_[k].data(),
                         sums_[k].data(), below, scratch_.data());
            delta = below;
        }
    }

    void first_step(T step, const T* delta) {
        const std::size_t n = units();
        for (std::size_t i = 0; i < x_.size(); ++i) {
            axpy(n, step * x_[i], delta, theta_ + columns_[i] * n);
        }
        if (squared_centre_ == 0.0) return;
        axpy(n, step, delta, t_.data());
        axpy(n, step * static_cast<T>(product_), delta, u_.data());
    }

    // below = U delta, then U += step h delta'
    void step_of_layer(const LayerView<T>& layer, const T* h, T step, const T* delta, T* below) {
        T* weights = theta_ + layer.first;
        const std::size_t n = layer.outputs;
        if (n == 1) {
            const T d = *delta;
#pragma omp simd
            for (std::size_t i = 0; i < layer.inputs; ++i) {
                below[i] = weights[i] * d;
                weights[i] += step * h[i] * d;
            }
            return;
        }
        for (std::size_t i = 0; i < layer.inputs; ++i) {
            T sum{0}, *row = weights + i * n;
            const T by = step * h[i];
#pragma omp simd reduction(+ : sum)
            for (std::size_t j = 0; j < n; ++j) {
                sum += row[j] * delta[j];
                row[j] += by * delta[j];
            }
            below[i] = sum;
        }
    }

    const NetworkTargets& targets_;
    Vector<LayerView<T>> layers_;
    Transfer transfer_;
    T* theta_;
    const NetworkInputs& inputs_;
    Vector<Vector<T>> values_, sums_;
    Vector<T> deltas_[2], scratch_, centre_;
    Vector<T> t_, u_;
    Vector<double> room_;
    Vector<std::size_t> columns_;
    Vector<T> x_;
    double product_ = 0.0, squared_centre_ = 0.0;
    double hidden_ = 1.0, output_ = 1.0;  // a of the hidden layers and of the output layer
};

template <class T>
Tally one_by_one(const Rows& rows, const Network& network, const Standardization& s,
                 const NetworkPass& pass) {
    NetworkInputs inputs(rows, s);
    inputs.centre_full_columns();
    const FlushToZero flush;
    OnlineNetwork<T> online(network, inputs, pass.targets);
    Tally tally;
    for (std::size_t i = 0; i < pass.count; ++i) {
        online.visit(static_cast<std::size_t>(pass.order[i]), pass.step, tally);
    }
    online.fold();
    return tally;
}

inline Tally network_online(const Rows& rows, const Network& network, const Standardization& s,
                            const NetworkPass& pass) {
    return network.double_precision ? one_by_one<double>(rows, network, s, pass)
                                    : one_by_one<float>(rows, network, s, pass);
}

}  // namespace widemargin::WIDEMARGIN_ISA
