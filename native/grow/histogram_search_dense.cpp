// The search of the histogram grower for values, and classes of several outputs.
#include "grow/histogram_search.hpp"

namespace spinney::detail {

template struct NodeSearchOf<Layout::dense, SquaredError>;
template struct NodeSearchOf<Layout::dense, Poisson>;
template struct NodeSearchOf<Layout::dense, OfClasses<Gini, Layout::dense>>;
template struct NodeSearchOf<Layout::dense, OfClasses<Entropy, Layout::dense>>;
template struct NodeSearchOf<Layout::dense, OfClasses<Error, Layout::dense>>;

}  // namespace spinney::detail
