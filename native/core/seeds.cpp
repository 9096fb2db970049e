#include "core/seeds.hpp"

#include <array>

namespace spinney {
namespace {

using Pool = std::array<std::uint32_t, 4>;

/// The hash of SeedSequence (O'Neill 2015, "Developing a seed_seq alternative"): its constant changes with
/// every call.
struct HashMix {
    std::uint32_t constant, multiplier;

    std::uint32_t operator()(std::uint32_t value) {
        value ^= constant;
        constant *= multiplier;
        value *= constant;
        return value ^ value >> 16;
    }
};

/// The entropy of a seed and, if given, a purpose: a seed below 2^32 is one 32-bit word, others are two.
Pool entropy_of(std::uint64_t seed, bool has_purpose, std::uint32_t purpose) {
    const auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
    Pool out{low, 0, 0, 0};
    std::size_t n = 1;
    if (high > 0) out[n++] = high;
    if (has_purpose) out[n] = purpose;
    return out;
}

/// SeedSequence.generate_state(N, uint64)
template <std::size_t N>
std::array<std::uint64_t, N> generate_state(Pool pool) {
    HashMix mix_in{0x43B0D7E5, 0x931E8875};
    for (std::uint32_t& word : pool) word = mix_in(word);
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j) {
            if (i == j) continue;
            const std::uint32_t both = 0xCA01F9DDu * pool[j] - 0x4973F715u * mix_in(pool[i]);
            pool[j] = both ^ both >> 16;
        }
    HashMix mix_out{0x8B51F9DD, 0x58F38DED};
    std::array<std::uint64_t, N> out;
    std::size_t i = 0;
    for (std::uint64_t& number : out) {
        const std::uint64_t low = mix_out(pool[i++ % 4]);
        number = low | std::uint64_t{mix_out(pool[i++ % 4])} << 32;
    }
    return out;
}

}  // namespace

std::uint64_t draw_seed(std::uint64_t random_state) {
    return generate_state<1>(entropy_of(random_state, false, 0))[0];
}

std::uint64_t draw_word(std::uint64_t seed, std::uint32_t purpose) {
    __extension__ using Wide = unsigned __int128;
    const auto [begin_high, begin_low, step_high, step_low] =
        generate_state<4>(entropy_of(seed, true, purpose));
    constexpr Wide multiplier = Wide{0x2360ED051FC65DA4} << 64 | 0x4385DF649FCCF645;
    const Wide step = Wide{step_high} << 65 | Wide{step_low} << 1 | 1;
    Wide state = step + (Wide{begin_high} << 64 | begin_low);
    for (int i = 0; i < 2; ++i) state = state * multiplier + step;  // to start, and for the output
    const auto folded = static_cast<std::uint64_t>(state >> 64 ^ state);
    const auto turn = static_cast<unsigned>(state >> 122);
    return folded >> turn | folded << (-turn & 63);
}

}  // namespace spinney
