#include "boost/boosted_grower.hpp"

#include "boost/chunked_grower.hpp"

namespace spinney {

std::unique_ptr<BoostedGrower> make_boosted_grower(const BoostTable& table, const BoostOptions& options,
                                                   PhaseTimes& times) {
    return std::make_unique<ChunkedGrower>(table, options, times);
}

}  // namespace spinney
