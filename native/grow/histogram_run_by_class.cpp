// The histogram grower for class weights of one output.
#include "grow/histogram_run.hpp"

namespace spinney::detail {

template void grow_histogram_as<Layout::by_class, Gini<2>>(std::vector<Fragment>&, const GrowContext&,
                                                           const CodeTiles&, std::vector<Row>);
template void grow_histogram_as<Layout::by_class, Entropy<2>>(std::vector<Fragment>&, const GrowContext&,
                                                              const CodeTiles&, std::vector<Row>);
template void grow_histogram_as<Layout::by_class, Gini<0>>(std::vector<Fragment>&, const GrowContext&,
                                                           const CodeTiles&, std::vector<Row>);
template void grow_histogram_as<Layout::by_class, Entropy<0>>(std::vector<Fragment>&, const GrowContext&,
                                                              const CodeTiles&, std::vector<Row>);

}  // namespace spinney::detail
