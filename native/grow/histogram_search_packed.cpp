// The search of the histogram grower for packed sums of two classes.
#include "grow/histogram_search.hpp"

namespace spinney::detail {

template struct NodeSearchOf<Layout::packed, OfClasses<Gini, Layout::packed>>;
template struct NodeSearchOf<Layout::packed, OfClasses<Entropy, Layout::packed>>;
template struct NodeSearchOf<Layout::packed, OfClasses<Error, Layout::packed>>;

}  // namespace spinney::detail
