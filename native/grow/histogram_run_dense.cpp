// The histogram grower for values, and classes of several outputs.
#include "grow/histogram_run.hpp"

namespace spinney::detail {

template void grow_histogram_as<Layout::dense, SquaredError>(std::vector<Fragment>&, const GrowContext&,
                                                             const CodeTiles&, std::vector<Row>);
template void grow_histogram_as<Layout::dense, Poisson>(std::vector<Fragment>&, const GrowContext&,
                                                        const CodeTiles&, std::vector<Row>);
template void grow_histogram_as<Layout::dense, ManyOutputs<Gini>>(std::vector<Fragment>&, const GrowContext&,
                                                                  const CodeTiles&, std::vector<Row>);
template void grow_histogram_as<Layout::dense, ManyOutputs<Entropy>>(std::vector<Fragment>&,
                                                                     const GrowContext&, const CodeTiles&,
                                                                     std::vector<Row>);

}  // namespace spinney::detail
