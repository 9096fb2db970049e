// Tests the radix sorts against std::sort, and the map from numbers to keys.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "core/radix_sort.hpp"
#include "tests/check.hpp"

using namespace spinney;

template <class Key>
static std::vector<std::vector<Key>> samples() {
    std::mt19937_64 random(7);
    std::vector<std::vector<Key>> all;
    for (Size n : {0, 1, 2, 17, 48, 49, 1000, 30000}) {
        for (int pattern = 0; pattern < 7; ++pattern) {
            std::vector<Key> keys(n);
            for (Size i = 0; i < n; ++i) {
                const auto r = static_cast<Key>(random());
                switch (pattern) {
                    case 0:
                        keys[i] = r;
                        break;
                    case 1:
                        keys[i] = r & 7;
                        break;
                    case 2:
                        keys[i] = 42;
                        break;
                    case 3:
                        keys[i] = static_cast<Key>(n - i);
                        break;
                    case 4:
                        keys[i] = static_cast<Key>(r & 0xff00);
                        break;
                    // Short runs of equal upper halves, lower halves in disorder; then long ones.
                    case 5:
                        keys[i] = static_cast<Key>((r & 0xfff) << (4 * sizeof(Key)) | (r >> 8 & 7));
                        break;
                    default:
                        keys[i] = static_cast<Key>((r & 3) << (4 * sizeof(Key)) | (r >> 8 & 0xfff));
                }
            }
            all.push_back(keys);
        }
    }
    return all;
}

template <class Key>
static void check_sorts() {
    for (const auto& keys : samples<Key>()) {
        auto expected = keys, got = keys, scratch = keys;
        std::sort(expected.begin(), expected.end());
        radix_sort(got.data(), scratch.data(), got.size());
        CHECK(got == expected);

        std::vector<std::uint32_t> rows(keys.size()), order(keys.size()), row_scratch(keys.size());
        std::iota(rows.begin(), rows.end(), 0u);
        order = rows;
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
        got = keys;
        radix_sort_pairs(got.data(), rows.data(), scratch.data(), row_scratch.data(), got.size());
        CHECK(got == expected);
        CHECK(rows == order);
    }
}

TEST(sorts_32_bit_keys) { check_sorts<std::uint32_t>(); }
TEST(sorts_64_bit_keys) { check_sorts<std::uint64_t>(); }

template <class T>
static void check_map() {
    using Limits = std::numeric_limits<T>;
    const std::vector<T> rising{
        -Limits::infinity(),  -Limits::max(), T(-1.5), T(-1),  -Limits::min(), -Limits::denorm_min(), T(0),
        Limits::denorm_min(), Limits::min(),  T(1),    T(1.5), Limits::max(),  Limits::infinity()};
    for (Size i = 0; i < rising.size(); ++i) {
        CHECK_EQUAL(number_of(key_of(rising[i])), rising[i]);
        if (i > 0) CHECK(key_of(rising[i - 1]) < key_of(rising[i]));
    }
    CHECK_EQUAL(key_of(T(-0.0)), key_of(T(0.0)));
    CHECK(!std::signbit(number_of(key_of(T(-0.0)))));
}

TEST(keys_order_like_doubles) { check_map<double>(); }
TEST(keys_order_like_floats) { check_map<float>(); }

CHECK_MAIN
