// The search of the histogram grower for packed sums of two classes.
#include "grow/histogram_search.hpp"

namespace spinney::detail {

template std::unique_ptr<NodeSearch> make_node_search<Layout::packed, Gini<2>>(const GrowContext&,
                                                                               const HistogramData&,
                                                                               HistogramPool&, int);
template std::unique_ptr<NodeSearch> make_node_search<Layout::packed, Entropy<2>>(const GrowContext&,
                                                                                  const HistogramData&,
                                                                                  HistogramPool&, int);

}  // namespace spinney::detail
