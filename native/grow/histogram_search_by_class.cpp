// The search of the histogram grower for class weights of one output.
#include "grow/histogram_search.hpp"

namespace spinney::detail {

template struct NodeSearchOf<Layout::by_class, OfClasses<Gini, Layout::by_class>>;
template struct NodeSearchOf<Layout::by_class, OfClasses<Entropy, Layout::by_class>>;
template struct NodeSearchOf<Layout::by_class, OfClasses<Error, Layout::by_class>>;

}  // namespace spinney::detail
