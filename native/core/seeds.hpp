// Seeds made of seeds, with the numbers of NumPy's SeedSequence and PCG64.
#pragma once

#include <cstdint>

namespace spinney {

/// numpy.random.SeedSequence(random_state).generate_state(1, uint64)[0]
std::uint64_t draw_seed(std::uint64_t random_state);

/// numpy.random.PCG64([seed, purpose]).random_raw()
std::uint64_t draw_word(std::uint64_t seed, std::uint32_t purpose);

}  // namespace spinney
