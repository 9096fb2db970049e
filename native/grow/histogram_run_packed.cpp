// The histogram grower for packed sums of two classes.
#include "grow/histogram_run.hpp"

namespace spinney::detail {

template void grow_histogram_as<Layout::packed, Gini<2>>(std::vector<Fragment>&, const GrowContext&,
                                                         const CodeTiles&, std::vector<Row>);
template void grow_histogram_as<Layout::packed, Entropy<2>>(std::vector<Fragment>&, const GrowContext&,
                                                            const CodeTiles&, std::vector<Row>);

}  // namespace spinney::detail
