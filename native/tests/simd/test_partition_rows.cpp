// The partition of a list of rows by their codes, against a loop over two lists.
#include <random>
#include <vector>

#include "simd/partition_rows.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

struct Case {
    std::vector<std::uint8_t> codes;  // (n_rows, stride), and three more
    std::vector<Row> rows;
    Size stride;
    std::uint32_t n_bins;
    LeftCodes left;
};

Case draw_case(std::mt19937_64& g) {
    Case out;
    const Size n_rows = 1 + g() % 300;
    out.stride = 1 + g() % 32;
    out.n_bins = static_cast<std::uint32_t>(g() % 4 ? 1 + g() % 255 : 1 + g() % 3);
    out.codes.resize(n_rows * out.stride + 3);
    for (auto& code : out.codes) code = static_cast<std::uint8_t>(g() % (out.n_bins + 1));
    const Size one_in = 1 + g() % 4;
    for (Size r = 0; r < n_rows; ++r)
        if (g() % one_in == 0) out.rows.push_back(static_cast<Row>(r));
    out.left.last = static_cast<std::uint32_t>(g() % out.n_bins);
    out.left.also = g() % 2 ? out.n_bins : out.left.last;
    return out;
}

/// Partition the list, which stands among other rows, and compare it with two lists.
template <class Partition>
void check_partition(const Case& c, Partition&& partition) {
    std::vector<Row> left, right;
    bool used = false;
    std::uint32_t after = c.n_bins;
    for (const Row row : c.rows) {
        const std::uint32_t code = c.codes[row * c.stride];
        const bool goes_left = code <= c.left.last || code == c.left.also;
        (goes_left ? left : right).push_back(row);
        used = used || code == c.left.last;
        if (!goes_left) after = std::min(after, code);
    }
    const Row other = 12345;
    std::vector<Row> list(c.rows), spare(c.rows.size() + 16);
    list.resize(list.size() + 16, other);
    const PartitionedRows found = partition(list.data(), spare.data());
    CHECK_EQUAL(found.n_left, left.size());
    CHECK_EQUAL(found.bin_used, used);
    CHECK_EQUAL(found.after, after);
    CHECK(std::equal(left.begin(), left.end(), list.begin()));
    CHECK(std::equal(right.begin(), right.end(), spare.begin()));
    for (Size i = c.rows.size(); i < list.size(); ++i) CHECK_EQUAL(list[i], other);
}

}  // namespace

TEST(partitions_are_those_of_two_lists) {
    std::mt19937_64 g(1);
    for (int round = 0; round < check::rounds(400); ++round) {
        const Case c = draw_case(g);
        check_partition(c, [&](Row* list, Row* right) {
            const auto goes_left = [&](std::uint32_t code) -> std::uint32_t {
                return code <= c.left.last || code == c.left.also;
            };
            return partition_rows(list, c.rows.size(), right, c.codes.data(), c.stride, goes_left,
                                  c.left.last, c.n_bins);
        });
#ifdef SPINNEY_COMPRESSED_ROWS
        CHECK(can_compress(c.codes.size()));
        check_partition(c, [&](Row* list, Row* right) {
            return partition_compressed(list, c.rows.size(), right, c.codes.data(), c.stride, c.left,
                                        c.n_bins);
        });
#endif
    }
}

CHECK_MAIN
