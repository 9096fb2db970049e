// Registers GrownTree, GrownForest and Candidates: what the growers return.
#include "bindings/arrays.hpp"
#include "bindings/grown_tree.hpp"
#include "bindings/register.hpp"
#include "core/split_kind.hpp"

namespace spinney {
namespace {

template <class T>
using View = nb::ndarray<nb::numpy, const T>;

/// An array of the tree, kept alive by it.
template <class T>
nb::object view(nb::handle tree, const std::vector<T>& data, std::initializer_list<size_t> shape) {
    static const T none{};  // an array without memory would not be read-only
    return nb::cast(View<T>(data.empty() ? &none : data.data(), shape.size(), shape.begin(), tree));
}

template <auto member>
nb::object array(nb::handle self) {
    const auto& data = nb::cast<const GrownTree&>(self).arrays.*member;
    return view(self, data, {data.size()});
}

nb::object zeros(Size n) { return nb::module_::import_("numpy").attr("zeros")(n, "int64"); }

/// Offsets into a pool, one per node and the end. Zeros that nobody writes take no memory.
template <auto member>
nb::object offsets(nb::handle self) {
    const FlatTree& tree = nb::cast<const GrownTree&>(self).arrays;
    return (tree.*member).empty() ? zeros(tree.kind.size() + 1) : array<member>(self);
}

nb::object value(nb::handle self) {
    const FlatTree& tree = nb::cast<const GrownTree&>(self).arrays;
    return view(self, tree.value,
                {tree.kind.size(), static_cast<Size>(tree.n_outputs), static_cast<Size>(tree.width)});
}

#define SPINNEY_EACH_ARRAY(f)                                                                                \
    f(kind) f(first_child) f(n_children) f(missing) f(weight) f(n_samples) f(impurity) f(set_bits) f(branch) \
        f(term_feature) f(term_coefficient) f(term_fill)
#define SPINNEY_ADD(name) out[#name] = array<&FlatTree::name>(self);

/// A read-only array that takes over a vector.
template <class T, class Stored>
nb::object owned(std::vector<Stored>&& values) {
    auto* kept = new std::vector<Stored>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Stored>*>(p); });
    const size_t shape[] = {kept->size()};
    return nb::cast(View<T>(reinterpret_cast<const T*>(kept->data()), 1, shape, owner));
}

/// All arrays by name as `TreeArrays` keeps them: with `is_leaf`, and -2 as feature and threshold of leaves.
nb::dict marked_arrays(nb::handle self) {
    const FlatTree& tree = nb::cast<const GrownTree&>(self).arrays;
    std::vector<std::uint8_t> is_leaf(tree.kind.size());
    std::vector<std::int32_t> feature = tree.feature;
    std::vector<double> threshold = tree.threshold;
    for (Size i = 0; i < is_leaf.size(); ++i) {
        is_leaf[i] = tree.kind[i] == static_cast<std::uint8_t>(SplitKind::leaf);
        if (!is_leaf[i]) continue;
        feature[i] = -2;
        threshold[i] = -2.0;
    }
    nb::dict out;
    nb::object none;  // the offsets into empty pools
    const auto add_offsets = [&]<auto member>(const char* name) {
        if (!(tree.*member).empty()) {
            out[name] = array<member>(self);
            return;
        }
        if (!none) {
            none = zeros(tree.kind.size() + 1);
            none.attr("setflags")(nb::arg("write") = false);
        }
        out[name] = none;
    };
    SPINNEY_EACH_ARRAY(SPINNEY_ADD)
    add_offsets.template operator()<&FlatTree::set_begin>("set_begin");
    add_offsets.template operator()<&FlatTree::branch_begin>("branch_begin");
    add_offsets.template operator()<&FlatTree::term_begin>("term_begin");
    out["value"] = value(self);
    out["feature"] = owned<std::int32_t>(std::move(feature));
    out["threshold"] = owned<double>(std::move(threshold));
    out["is_leaf"] = owned<bool>(std::move(is_leaf));
    return out;
}

/// An array of a forest, kept alive by it.
template <class T>
nb::object view(nb::handle forest, const GrowingArray<T>& data, std::initializer_list<size_t> shape) {
    return nb::cast(View<T>(data.data(), shape.size(), shape.begin(), forest));
}

template <auto member>
nb::object forest_array(nb::handle self) {
    const auto& data = nb::cast<const GrownForest&>(self).arrays.*member;
    return view(self, data, {data.size()});
}

/// The narrow array, unless the wide one is in use.
template <auto narrow, auto wide>
nb::object narrow_array(nb::handle self) {
    const bool use_wide = (nb::cast<const GrownForest&>(self).arrays.*wide).size() > 0;
    return use_wide ? forest_array<wide>(self) : forest_array<narrow>(self);
}

nb::object forest_value(nb::handle self) {
    const ForestArrays& forest = nb::cast<const GrownForest&>(self).arrays;
    return view(self, forest.value,
                {forest.kind.size(), static_cast<Size>(forest.n_outputs), static_cast<Size>(forest.width)});
}

/// All nodes in the arrays of one tree, and the first node of each tree.
nb::tuple join_trees(const nb::list& trees) {
    if (trees.size() == 0) throw std::invalid_argument("join_trees needs a tree");
    NewArray<std::int64_t> begin({trees.size() + 1});
    GrownTree out{{}, nb::cast<const GrownTree&>(trees[0]).n_features};
    for (Size i = 0; i < trees.size(); ++i) {
        begin.data[i] = static_cast<std::int64_t>(out.arrays.kind.size());
        out.arrays.append(nb::cast<const GrownTree&>(trees[i]).arrays);
    }
    begin.data[trees.size()] = static_cast<std::int64_t>(out.arrays.kind.size());
    return nb::make_tuple(std::move(out), begin.array);
}

struct Candidates {
    std::vector<LedgerRow> rows;
};

template <auto member>
nb::object column(const Candidates& self) {
    NewArray<std::remove_cvref_t<decltype(LedgerRow{}.*member)>> out({self.rows.size()});
    for (Size i = 0; i < self.rows.size(); ++i) out.data[i] = self.rows[i].*member;
    return nb::cast(out.array);
}

}  // namespace
}  // namespace spinney

#define SPINNEY_ARRAY(name) .def_prop_ro(#name, &spinney::array<&spinney::FlatTree::name>)
#define SPINNEY_OFFSETS(name) .def_prop_ro(#name, &spinney::offsets<&spinney::FlatTree::name>)
#define SPINNEY_FOREST(name) .def_prop_ro(#name, &spinney::forest_array<&spinney::ForestArrays::name>)
#define SPINNEY_COLUMN(name) .def_prop_ro(#name, &spinney::column<&spinney::LedgerRow::name>)

void register_tree(nb::module_& m) {
    using spinney::Candidates;
    using spinney::GrownTree;
    nb::class_<Candidates>(m, "Candidates", "Split candidates in the order of their nodes, as columns.")
        .def("__len__", [](const Candidates& self) { return self.rows.size(); })  //
        SPINNEY_COLUMN(node) SPINNEY_COLUMN(feature) SPINNEY_COLUMN(threshold) SPINNEY_COLUMN(gain)
            SPINNEY_COLUMN(gain_ratio) SPINNEY_COLUMN(score) SPINNEY_COLUMN(chosen);
    nb::class_<GrownTree>(m, "GrownTree", "A fitted tree; its arrays are views that keep it alive.")
        .def_ro("n_features", &GrownTree::n_features)
        .def_prop_ro("n_outputs", [](const GrownTree& self) { return self.arrays.n_outputs; })
        .def("marked_arrays", [](nb::handle self) { return spinney::marked_arrays(self); })
        .def_prop_ro("candidates", [](const GrownTree& self) { return Candidates{self.arrays.ledger}; })
        .def_prop_ro("value", &spinney::value)  //
        SPINNEY_EACH_ARRAY(SPINNEY_ARRAY) SPINNEY_ARRAY(feature) SPINNEY_ARRAY(threshold)
            SPINNEY_OFFSETS(set_begin) SPINNEY_OFFSETS(branch_begin) SPINNEY_OFFSETS(term_begin);
    using spinney::ForestArrays;
    using spinney::GrownForest;
    nb::class_<GrownForest>(m, "GrownForest",
                            "The trees of a forest; its arrays are views that keep it alive.")
        .def_ro("n_features", &GrownForest::n_features)
        .def_prop_ro("value", &spinney::forest_value)
        .def_prop_ro("missing", &spinney::narrow_array<&ForestArrays::missing, &ForestArrays::wide_missing>)
        .def_prop_ro("n_samples",
                     &spinney::narrow_array<&ForestArrays::n_samples, &ForestArrays::wide_n_samples>)  //
        SPINNEY_FOREST(tree_begin) SPINNEY_FOREST(kind) SPINNEY_FOREST(feature) SPINNEY_FOREST(threshold)
            SPINNEY_FOREST(weight) SPINNEY_FOREST(impurity) SPINNEY_FOREST(set_begin) SPINNEY_FOREST(set_bits)
                SPINNEY_FOREST(branch_begin) SPINNEY_FOREST(branch_children) SPINNEY_FOREST(branch)
                    SPINNEY_FOREST(term_begin) SPINNEY_FOREST(term_feature) SPINNEY_FOREST(term_coefficient)
                        SPINNEY_FOREST(term_fill);
    m.def("join_trees", &spinney::join_trees, nb::arg("trees"));
}
