// Appending the trees of a forest to its arrays.
#include "grow/forest_arrays.hpp"

#include <limits>
#include <vector>

#include "core/split_kind.hpp"

namespace spinney {

namespace {

template <class T>
void append(GrowingArray<T>& to, const std::vector<T>& from) {
    if (from.empty()) return;
    std::memcpy(to.extend(from.size()), from.data(), from.size() * sizeof(T));
}

/// Append to the narrow array, or move everything to the wide one if a value does not fit.
template <class Narrow, class Wide>
void append_narrow(GrowingArray<Narrow>& narrow, GrowingArray<Wide>& wide, const std::vector<Wide>& from) {
    using Limits = std::numeric_limits<Narrow>;
    const bool fits = std::all_of(from.begin(), from.end(),
                                  [](Wide v) { return v >= Limits::min() && v <= Limits::max(); });
    if (wide.size() == 0 && fits) return narrow.append(from.data(), from.size());
    wide.append(narrow.data(), narrow.size());
    narrow = {};
    append(wide, from);
}

/// Append the offsets of the splits of one kind; `of` has an offset per node and the end, or is empty.
void append_offsets(GrowingArray<std::int64_t>& to, const std::vector<std::int64_t>& of,
                    const std::vector<std::uint8_t>& kinds, SplitKind kind) {
    if (of.empty()) return;
    const std::int64_t first = to.back();
    for (Size i = 0; i < kinds.size(); ++i)
        if (kinds[i] == static_cast<std::uint8_t>(kind)) to.push_back(first + of[i + 1]);
}

}  // namespace

void ForestArrays::add(const FlatTree& tree) {
    if (n_trees() == 0) {
        n_outputs = tree.n_outputs;
        width = tree.width;
        reserve(tree);
    }
    tree_begin.push_back(tree_begin.back() + static_cast<std::int64_t>(tree.kind.size()));
    append(kind, tree.kind);
    append(feature, tree.feature);
    append(threshold, tree.threshold);
    append(value, tree.value);
    append(weight, tree.weight);
    append(impurity, tree.impurity);
    append_narrow(missing, wide_missing, tree.missing);
    append_narrow(n_samples, wide_n_samples, tree.n_samples);
    add_pools(tree);
}

void ForestArrays::add_pools(const FlatTree& tree) {
    append_offsets(set_begin, tree.set_begin, tree.kind, SplitKind::category_set);
    append_offsets(branch_begin, tree.branch_begin, tree.kind, SplitKind::multiway);
    append_offsets(term_begin, tree.term_begin, tree.kind, SplitKind::linear);
    append(set_bits, tree.set_bits);
    append(branch, tree.branch);
    append(term_feature, tree.term_feature);
    append(term_coefficient, tree.term_coefficient);
    append(term_fill, tree.term_fill);
    if (tree.branch.empty()) return;
    for (Size i = 0; i < tree.kind.size(); ++i)
        if (tree.kind[i] == static_cast<std::uint8_t>(SplitKind::multiway))
            branch_children.push_back(tree.n_children[i]);
}

void ForestArrays::reserve(const FlatTree& first) {
    const Size n = n_expected_ * first.kind.size() * 9 / 8;
    tree_begin.reserve(n_expected_ + 1);
    kind.reserve(n);
    feature.reserve(n);
    missing.reserve(n);
    n_samples.reserve(n);
    for (auto* array : {&threshold, &weight, &impurity}) array->reserve(n);
    value.reserve(n * static_cast<Size>(n_outputs * width));
}

void ForestArrays::shrink() {
    tree_begin.shrink();
    kind.shrink();
    for (auto* array : {&feature, &n_samples, &wide_missing, &branch_children, &branch, &term_feature})
        array->shrink();
    for (auto* array : {&threshold, &value, &weight, &impurity, &term_coefficient, &term_fill})
        array->shrink();
    for (auto* array : {&wide_n_samples, &set_begin, &branch_begin, &term_begin}) array->shrink();
    missing.shrink();
    set_bits.shrink();
}

}  // namespace spinney
