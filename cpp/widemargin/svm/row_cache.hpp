// Rows of the kernel matrix over the active examples, as many as fit into a number of bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "widemargin/base/buffer.hpp"

namespace widemargin {

class RowCache {
   public:
    // `memory` is used if it is large enough; how many rows fit does not depend on it.
    RowCache(std::size_t bytes, std::size_t examples, std::size_t value_bytes,
             Buffer<unsigned char> memory = {})
        : bytes_(bytes),
          value_bytes_(value_bytes),
          memory_(std::move(memory)),
          slot_of_(examples, kNone) {}

    std::size_t bytes() const { return bytes_; }
    // Gives its memory away; the cache cannot be used any more.
    Buffer<unsigned char> release() { return std::move(memory_); }

    // Forgets everything; rows now have `stride` places, a multiple of a block.
    void reset(std::size_t stride) {
        if (used_bytes_ == 0 && bytes_ > 0) {
            used_bytes_ = std::min(bytes_, slot_of_.size() * stride * value_bytes_);
            if (memory_.size() < used_bytes_) {
                memory_ = Buffer<unsigned char>();  // frees the old one first
                memory_ = Buffer<unsigned char>(used_bytes_);
            }
        }
        stride_ = stride;
        for (const std::int64_t id : owner_) {
            if (id >= 0) slot_of_[static_cast<std::size_t>(id)] = kNone;
        }
        owner_.assign(capacity(), -1);
        used_.assign(capacity(), -1);
        next_ = 0;
    }

    const void* find(std::int64_t id, std::int64_t now) {
        const std::size_t slot = slot_of_[static_cast<std::size_t>(id)];
        if (slot == kNone) return nullptr;
        used_[slot] = now;
        return at(slot);
    }

    // Memory for the row of an example; null if all rows were used too recently.
    void* claim(std::int64_t id, std::int64_t now) {
        if (owner_.empty()) return nullptr;
        for (std::size_t tries = 0; tries < owner_.size(); ++tries) {
            const std::size_t slot = next_;
            next_ = next_ + 1 == owner_.size() ? 0 : next_ + 1;
            if (owner_[slot] >= 0 && used_[slot] > now - kSafeIterations) continue;
            if (owner_[slot] >= 0) slot_of_[static_cast<std::size_t>(owner_[slot])] = kNone;
            owner_[slot] = id;
            used_[slot] = now;
            slot_of_[static_cast<std::size_t>(id)] = slot;
            return at(slot);
        }
        return nullptr;
    }

    // Keeps these places (ascending) of every row; the memory gained is for more rows.
    void compact(const std::vector<std::size_t>& keep, std::size_t stride) {
        std::vector<std::int64_t> owner;
        std::vector<std::int64_t> used;
        for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
            if (owner_[slot] < 0) continue;
            const std::size_t to = owner.size();
            value_bytes_ == sizeof(float) ? pack_row<float>(slot, to, keep, stride)
                                          : pack_row<double>(slot, to, keep, stride);
            slot_of_[static_cast<std::size_t>(owner_[slot])] = to;
            owner.push_back(owner_[slot]);
            used.push_back(used_[slot]);
        }
        stride_ = stride;
        next_ = owner.size();
        owner_ = std::move(owner);
        used_ = std::move(used);
        owner_.resize(capacity(), -1);
        used_.resize(capacity(), -1);
        if (next_ >= owner_.size()) next_ = 0;
    }

   private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    static constexpr std::int64_t kSafeIterations = 2;  // for which a row stays after its last use

    std::size_t capacity() const {
        const std::size_t row = stride_ * value_bytes_;
        return row == 0 ? 0 : std::min(slot_of_.size(), used_bytes_ / row);
    }
    void* at(std::size_t slot) const { return memory_.data() + slot * stride_ * value_bytes_; }

    // Never overwrites what is still to be read: rows only move down and get shorter.
    template <class T>
    void pack_row(std::size_t from, std::size_t to, const std::vector<std::size_t>& keep,
                  std::size_t stride) {
        const T* source = reinterpret_cast<const T*>(memory_.data()) + from * stride_;
        T* target = reinterpret_cast<T*>(memory_.data()) + to * stride;
        std::size_t p = 0;
        for (; p < keep.size(); ++p) target[p] = source[keep[p]];
        for (; p < stride; ++p) target[p] = 0;
    }

    std::size_t bytes_, value_bytes_, used_bytes_ = 0, stride_ = 0, next_ = 0;
    Buffer<unsigned char> memory_;
    std::vector<std::size_t> slot_of_;
    std::vector<std::int64_t> owner_, used_;
};

}  // namespace widemargin
