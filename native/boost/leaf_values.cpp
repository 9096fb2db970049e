#include "boost/leaf_values.hpp"

#include <algorithm>
#include <limits>

#include "grow/grown_tree.hpp"

namespace spinney {

FlatTree flatten(BoostedTree& tree, const std::vector<LeafSums>& sums, const std::vector<double>& values) {
    std::vector<double> value(tree.nodes.size(), 0.0), weight(tree.nodes.size(), 0.0);
    for (Size i = 0; i < values.size(); ++i) {
        value[static_cast<Size>(tree.leaves[i])] = values[i];
        weight[static_cast<Size>(tree.leaves[i])] = sums[i].weight;
    }
    // Children come after their parents.
    for (Size i = tree.nodes.size(); i-- > 0;) {
        GrownNode& n = tree.fragment.nodes[i];
        n.n_samples = static_cast<std::int64_t>(tree.nodes[i].n_rows);
        if (n.n_children == 0) continue;
        const Size a = static_cast<Size>(n.first_child), b = a + 1;
        weight[i] = weight[a] + weight[b];
        value[i] = weight[i] > 0 ? value[a] + (value[b] - value[a]) * (weight[b] / weight[i]) : value[a];
    }
    FlatTree out;
    for (const NodeRef& place : lay_out(out, std::vector<Fragment>{std::move(tree.fragment)})) {
        const auto i = static_cast<Size>(place.node);
        out.value.push_back(value[i]);
        out.weight.push_back(weight[i]);
        // Squares of gradients near the largest number overflow.
        const double gain = std::min(tree.nodes[i].gain, std::numeric_limits<double>::max());
        out.impurity.push_back(out.kind[out.impurity.size()] ? gain : 0.0);
    }
    return out;
}

}  // namespace spinney
