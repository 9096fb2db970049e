// The search of the histogram grower for class weights of one output.
#include "grow/histogram_search.hpp"

namespace spinney::detail {

template std::unique_ptr<NodeSearch> make_node_search<Layout::by_class, Gini<2>>(const GrowContext&,
                                                                                 const HistogramData&,
                                                                                 HistogramPool&, int);
template std::unique_ptr<NodeSearch> make_node_search<Layout::by_class, Entropy<2>>(const GrowContext&,
                                                                                    const HistogramData&,
                                                                                    HistogramPool&, int);
template std::unique_ptr<NodeSearch> make_node_search<Layout::by_class, Gini<0>>(const GrowContext&,
                                                                                 const HistogramData&,
                                                                                 HistogramPool&, int);
template std::unique_ptr<NodeSearch> make_node_search<Layout::by_class, Entropy<0>>(const GrowContext&,
                                                                                    const HistogramData&,
                                                                                    HistogramPool&, int);

}  // namespace spinney::detail
