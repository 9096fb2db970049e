#include "boost/partition.hpp"

#include <algorithm>

#include "core/thread_pool.hpp"

namespace spinney {

Size partition_rows(LocalRow* ids, Size n, LocalRow* spare, const std::uint8_t* codes,
                    const std::uint8_t* goes_left) {
    LocalRow *left = ids, *right = spare;
    // Without branches: the side of a row is unpredictable.
    for (Size i = 0; i < n; ++i) {
        const LocalRow row = ids[i];
        const Size to_left = goes_left[codes[row]];
        *left = row;
        *right = row;
        left += to_left;
        right += 1 - to_left;
    }
    std::copy(spare, right, left);
    return static_cast<Size>(left - ids);
}

void ChunkPartition::set_sides(const Candidate& split, const CodeColumn& column) {
    goes_left_.fill(0);
    if (split.kind == SplitKind::numeric)
        std::fill_n(goes_left_.begin(), split.threshold_bin + 1, std::uint8_t{1});
    else {
        if (split.unseen_left) {
            goes_left_.fill(1);
            for (const Code code : split.seen) goes_left_[code] = 0;
        }
        for (const Code code : split.bins) goes_left_[code] = 1;
    }
    goes_left_[column.n_bins] = split.missing == 0;
}

void ChunkPartition::split(ChunkRange* left, ChunkRange* right, const ChunkRange* from, Size n_chunks,
                           LocalRow* ids, const std::uint8_t* codes, int n_threads) {
    const Size n_tasks = std::min<Size>(n_chunks, 8 * spare_.size());
    Pool::shared().parallel_for(n_threads, n_tasks, [&](Size task, int thread) {
        for (Size c = task * n_chunks / n_tasks; c < (task + 1) * n_chunks / n_tasks; ++c) {
            const ChunkRange& r = from[c];
            LocalRow* own_ids = ids + c * kChunkRows;
            const std::uint8_t* own_codes = codes + c * kChunkRows;
            const LocalRow middle = split_list(own_ids, r.begin, r.end, own_codes, thread),
                           out_middle = split_list(own_ids, r.out_begin, r.out_end, own_codes, thread);
            left[c] = {r.begin, middle, r.out_begin, out_middle};
            right[c] = {middle, r.end, out_middle, r.out_end};
        }
    });
}

/// Partition one list of rows; return where the right side begins.
LocalRow ChunkPartition::split_list(LocalRow* ids, Size begin, Size end, const std::uint8_t* codes,
                                    int thread) {
    auto& spare = spare_[static_cast<Size>(thread)];
    if (spare.empty()) spare.resize(kSpareRows);
    const Size n_left = partition_rows(ids + begin, end - begin, spare.data(), codes, goes_left_.data());
    return static_cast<LocalRow>(begin + n_left);
}

}  // namespace spinney
