// Rows of the kernel matrix, computed in tiles of some rows by one block of examples. They are used
// while they are in registers: kept, or added to f(x) = sum_rows coef k(row, x).
//
// A value depends only on its two examples, not on their places, and k(x, x') = k(x', x) bit by
// bit: every path adds the same terms in the same order.
#pragma once

#include "widemargin/kernel/dense_tiles.hpp"
#include "widemargin/kernel/sparse_tiles.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// A single row gets a tile of its own, so that no time is spent on filling up a larger one.
template <class T, KernelName name>
void rows_by_layout(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                    const RowUse& use) {
    if (x.values) return sparse_rows<T, name>(kernel, rows, x, use);
    rows.count == 1 ? dense_rows<T, name, 1>(kernel, rows, x, use)
                    : dense_rows<T, name, kTileRows<T>>(kernel, rows, x, use);
}

template <class T>
void kernel_rows_of(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                    const RowUse& use) {
    with_kernel(kernel.name,
                [&](auto name) { rows_by_layout<T, name.value>(kernel, rows, x, use); });
}

inline void kernel_rows(const KernelFunction& kernel, const RowList& rows, const PackedView& x,
                        const RowUse& use) {
    if (rows.count == 0) return;
    x.double_precision ? kernel_rows_of<double>(kernel, rows, x, use)
                       : kernel_rows_of<float>(kernel, rows, x, use);
}

}  // namespace widemargin::WIDEMARGIN_ISA
