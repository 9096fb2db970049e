// The search of the histogram grower for values, and classes of several outputs.
#include "grow/histogram_search.hpp"

namespace spinney::detail {

template std::unique_ptr<NodeSearch> make_node_search<Layout::dense, SquaredError>(const GrowContext&,
                                                                                   const HistogramData&,
                                                                                   HistogramPool&, int);
template std::unique_ptr<NodeSearch> make_node_search<Layout::dense, Poisson>(const GrowContext&,
                                                                              const HistogramData&,
                                                                              HistogramPool&, int);
template std::unique_ptr<NodeSearch> make_node_search<Layout::dense, ManyOutputs<Gini>>(const GrowContext&,
                                                                                        const HistogramData&,
                                                                                        HistogramPool&, int);
template std::unique_ptr<NodeSearch> make_node_search<Layout::dense, ManyOutputs<Entropy>>(
    const GrowContext&, const HistogramData&, HistogramPool&, int);

}  // namespace spinney::detail
