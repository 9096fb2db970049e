// Searches of one numeric feature in one node without missing values, each for one shape of node: few rows, a
// histogram, one random cut.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "grow/histogram.hpp"
#include "split/sweep.hpp"

namespace spinney {

/// The best cut of a feature: codes up to `last` go left.
struct CodeCut {
    double pair = kImpossible;  // what Judge says of it
    Code last = 0;
    bool constant = true;  // the node has one value only
    bool found() const { return pair > kImpossible; }
};

/// Few rows of a node side by side. Each row is a lane: what goes left when the cut is at the row's own code
/// is a sum over all rows, and comparing every row with every other needs neither sorting nor a histogram.
/// Number: what holds a code, and the weight of all rows or, for sums of numbers, the sum itself
template <Layout L, class Number>
class FewRows {
  public:
    static constexpr Size most_rows = sizeof(Number) == 1 ? 96 : sizeof(Number) == 2 ? 64 : 32;
    static constexpr Size most_words = L == Layout::dense ? 4 : 32;

    /// Can rows of such statistics be taken at all?
    static bool takes(const Statistics& s) {
        if constexpr (L == Layout::dense) return static_cast<Size>(s.width) <= most_words;
        return s.weight_unit == 1.0 && s.row_words == 1 && static_cast<Size>(s.n_channels) <= most_words;
    }
    /// And those of a node of this size and total weight?
    static bool takes(Size n, Stat weight_steps) {
        return n <= most_rows &&
               (L == Layout::dense || weight_steps <= static_cast<Stat>(std::numeric_limits<Number>::max()));
    }

    /// Remember what the rows add.  words, slot: as in HistogramData
    void load(std::span<const Row> rows, const Stat* words, const std::uint16_t* slot, const Statistics& s) {
        n_ = rows.size();
        width_ = L == Layout::packed ? 2 : static_cast<Size>(s.width);
        for (Size i = 0; i < n_; ++i) {
            const Row row = rows[i];
            if constexpr (L == Layout::packed) {
                const Stat word = words[row];
                const auto weight = static_cast<Number>(word & 0xFFFF);
                const auto second = static_cast<Number>(word >> 32);
                adds_[0][i] = static_cast<Number>(weight - second);
                adds_[1][i] = second;
            } else if constexpr (L == Layout::slots) {
                adds_[0][i] = static_cast<Number>(words[row]);
                slot_[i] = slot[row];
            } else {
                for (Size w = 0; w < width_; ++w) adds_[w][i] = words[row * width_ + w];
            }
        }
    }

    /// Read the rows' codes; false: a value is missing.
    template <class Codes>
    bool read(std::span<const Row> rows, const Codes& codes, Code missing) {
        for (Size i = 0; i < n_; ++i) code_[i] = codes.at(rows[i]);
        const Size end = (n_ + lanes - 1) / lanes * lanes;
        std::fill(code_.data() + n_, code_.data() + end, code_[0]);
        Vector other{}, absent{};
        for (Size begin = 0; begin < end; begin += lanes) {
            const Vector code = load_vector(code_.data() + begin);
            other |= code ^ code_[0];
            absent |= std::bit_cast<Vector>(code == static_cast<Number>(missing));
        }
        constant_ = !any(other);
        // Lanes without a row: as if their cut were above all codes, which leaves nothing on the right.
        std::fill(code_.data() + n_, code_.data() + end, static_cast<Number>(kAboveAll));
        return !any(absent);
    }

    /// Find the best cut of the codes read last. The left sum is left to `left_of`.
    template <class J>
    CodeCut search(J& judge) {
        CodeCut out;
        out.constant = constant_;
        if (constant_) return out;
        add_up();
        alignas(64) std::array<Stat, most_words * kRegister> words;
        Register best = Register{} + kImpossible;
        StatRegister best_code = StatRegister{} + kAboveAll;
        for (Size begin = 0; begin < n_; begin += kRegister) {
            read_sums(words.data(), begin);
            const Register value = judge.several(words.data());
            const StatRegister code = widened(code_.data() + begin);
            // The first of equal cuts in order of code; the rows are in any order.
            const StatRegister better = (value > best) | ((value == best) & (code < best_code));
            best = where(better, value, best);
            best_code = better ? code : best_code;
        }
        for (Size i = 0; i < kRegister; ++i) {
            const auto code = static_cast<Code>(best_code[i]);
            if (best[i] > out.pair || (best[i] == out.pair && code < out.last)) {
                out.pair = best[i];
                out.last = code;
            }
        }
        return out;
    }

    /// The sum of what a cut that was just searched leaves on the left.  sum (width,)
    void left_of(Stat* sum, Code last) const {
        const Size lane = static_cast<Size>(std::find(code_.begin(), code_.end(), static_cast<Number>(last)) -
                                            code_.begin());
        alignas(64) std::array<Stat, most_words * kRegister> words;
        read_sums(words.data(), lane / kRegister * kRegister);
        const Size n_words = L == Layout::packed ? 1 : width_;
        for (Size w = 0; w < n_words; ++w) sum[w] = words[w * kRegister + lane % kRegister];
    }

  private:
    static constexpr Size lanes = 8 * kRegister / sizeof(Number);
    static constexpr Stat kAboveAll = 255;  // codes are bytes, and the last of 256 a missing value's
    using Vector = typename VectorOf<Number, lanes>::type;
    static constexpr Size room = (most_rows + lanes - 1) / lanes * lanes;

    static bool any(Vector v) { return nonzero_lanes(std::bit_cast<StatRegister>(v)) != 0; }

    static Vector load_vector(const Number* from) {
        Vector v;
        std::memcpy(&v, from, sizeof v);
        return v;
    }

    static StatRegister widened(const Number* from) {
        if constexpr (std::is_same_v<Number, Stat>) {
            return load_vector(from);
        } else {
            // By way of 32 bits: the compiler knows no instruction for both steps at once.
            using Narrow = typename VectorOf<Number, kRegister>::type;
            using Wider = std::int32_t __attribute__((vector_size(4 * kRegister)));
            Narrow v;
            std::memcpy(&v, from, sizeof v);
            return __builtin_convertvector(__builtin_convertvector(v, Wider), StatRegister);
        }
    }

    /// sums_[w][lane] = Σ over rows with a code up to the lane's own of what they add to word w.
    void add_up() {
        for (Size begin = 0; begin < n_; begin += lanes) {
            const Vector own = load_vector(code_.data() + begin);
            if constexpr (L == Layout::slots) {
                for (Size w = 0; w < width_; ++w) std::fill_n(sums_[w].data() + begin, lanes, Number{0});
                for (Size j = 0; j < n_; ++j) {
                    Number* sum = sums_[slot_[j]].data() + begin;
                    const Vector here = own >= code_[j] ? Vector{} + adds_[0][j] : Vector{};
                    const Vector now = load_vector(sum) + here;
                    std::memcpy(sum, &now, sizeof now);
                }
            } else {
                for (Size w = 0; w + 1 < width_; w += 2) add_two(own, begin, w);
                if (width_ % 2) add_one(own, begin, width_ - 1);
            }
        }
    }
    void add_two(const Vector& own, Size begin, Size w) {
        Vector a{}, b{};
        for (Size j = 0; j < n_; ++j) {
            const auto left = own >= code_[j];
            a += left ? Vector{} + adds_[w][j] : Vector{};
            b += left ? Vector{} + adds_[w + 1][j] : Vector{};
        }
        std::memcpy(sums_[w].data() + begin, &a, sizeof a);
        std::memcpy(sums_[w + 1].data() + begin, &b, sizeof b);
    }
    void add_one(const Vector& own, Size begin, Size w) {
        Vector a{};
        for (Size j = 0; j < n_; ++j) a += own >= code_[j] ? Vector{} + adds_[w][j] : Vector{};
        std::memcpy(sums_[w].data() + begin, &a, sizeof a);
    }

    /// The sums of some lanes as Judge takes them.  words (width, kRegister)
    void read_sums(Stat* words, Size begin) const {
        if constexpr (L == Layout::packed) {
            const StatRegister second = widened(sums_[1].data() + begin),
                               word = widened(sums_[0].data() + begin) + second + (second << 32);
            std::memcpy(words, &word, sizeof word);
        } else {
            for (Size w = 0; w < width_; ++w) {
                const StatRegister v = widened(sums_[w].data() + begin);
                std::memcpy(words + w * kRegister, &v, sizeof v);
            }
        }
    }

    Size n_ = 0, width_ = 1;
    bool constant_ = true;
    alignas(64) std::array<Number, room> code_;
    alignas(64) std::array<std::array<Number, room>, L == Layout::slots ? 1 : most_words> adds_;
    alignas(64) std::array<std::array<Number, room>, most_words> sums_;
    std::array<std::uint16_t, most_rows> slot_;
};

/// Searches the lines of one numeric feature by their running sums, kept in the form that Judge takes.
class LineSearch {
  public:
    explicit LineSearch(Size width)
        : width_(width), sum_(width), words_((256 / kRegister + 1) * kRegister * width) {}

    /// Find the best cut among the lines in use, of which `occupied` tells; null: look at every line.
    /// lines (n_bins, width), left (width,)
    template <class J>
    CodeCut search(J& judge, const Stat* lines, Size n_bins, const Occupied* occupied, Stat* left) {
        n_ = 0;
        std::fill_n(sum_.data(), width_, 0);
        if (width_ == 2)
            add_up<2>(lines, n_bins, occupied);
        else
            add_up<0>(lines, n_bins, occupied);
        CodeCut out;
        out.constant = n_ < 2;
        if (n_ < 2) return out;
        // The last cut leaves nothing on the right; the rest of the last register are made like it.
        for (Size i = n_; i % kRegister != 0; ++i)
            for (Size w = 0; w < width_; ++w) word(i, w) = sum_[w];
        FirstBest best;
        for (Size begin = 0; begin + 1 < n_; begin += kRegister)
            best.offer(judge.several(words_.data() + begin * width_));
        const Size at = best.choose(out.pair);
        if (!out.found()) return out;
        out.last = code_[at];
        for (Size w = 0; w < width_; ++w) left[w] = word(at, w);
        return out;
    }

    /// The same for lines of one word, all of which are looked at: a line not in use gives the cut before it
    /// again.  lines (n_bins,), left (1,)
    template <class J>
    static CodeCut search_words(J& judge, const Stat* lines, Size n_bins, Stat* left) {
        FirstBest best;
        StatRegister before{};
        const auto look_at = [&](Size begin, Size n) {
            StatRegister line{};
            std::memcpy(&line, lines + begin, n * sizeof(Stat));
            const StatRegister within = running_sum(line), sum = before + within;
            before += within[kRegister - 1];
            alignas(64) std::array<Stat, kRegister> words;
            std::memcpy(words.data(), &sum, sizeof sum);
            best.offer(judge.several(words.data()));
        };
        const Size whole = n_bins / kRegister * kRegister;
        for (Size begin = 0; begin < whole; begin += kRegister) look_at(begin, kRegister);
        if (whole < n_bins) look_at(whole, n_bins - whole);
        CodeCut out;
        const Size at = best.choose(out.pair);
        out.constant = !out.found() && std::count(lines, lines + n_bins, 0) + 1 >= static_cast<long>(n_bins);
        out.last = static_cast<Code>(at);
        if (out.found()) *left = std::accumulate(lines, lines + at + 1, Stat{0});
        return out;
    }

  private:
    /// The first of the greatest values, by lanes.
    struct FirstBest {
        Register value = Register{} + kImpossible;
        StatRegister at{}, next = lane_numbers();

        void offer(Register offered) {
            const StatRegister better = offered > value;
            value = where(better, offered, value);
            at = better ? next : at;
            next += static_cast<Stat>(kRegister);
        }
        Size choose(double& greatest) const {
            Size out = 0;
            for (Size i = 0; i < kRegister; ++i) {
                const auto place = static_cast<Size>(at[i]);
                if (value[i] > greatest || (value[i] == greatest && place < out)) {
                    greatest = value[i];
                    out = place;
                }
            }
            return out;
        }
    };

    Stat& word(Size i, Size w) { return words_[(i / kRegister * width_ + w) * kRegister + i % kRegister]; }

    /// Write down the running sum after each line in use. Width: of a line, or 0 when known only at run time.
    template <Size Width>
    void add_up(const Stat* lines, Size n_bins, const Occupied* occupied) {
        const Size width = Width ? Width : width_;
        Stat* sum = sum_.data();
        const auto add = [&](Size b) {
            const Stat* line = lines + b * width;
            Stat* to = words_.data() + n_ / kRegister * kRegister * width + n_ % kRegister;
            Stat any = 0;
            for (Size w = 0; w < width; ++w) {
                any |= line[w];
                sum[w] += line[w];
                to[w * kRegister] = sum[w];
            }
            code_[n_] = static_cast<std::uint8_t>(b);
            n_ += any != 0;
        };
        if (!occupied) {
            for (Size b = 0; b < n_bins; ++b) add(b);
            return;
        }
        for (Size w = 0; w < occupied->size(); ++w)
            for (std::uint64_t bits = (*occupied)[w]; bits; bits &= bits - 1)
                add(w * 64 + static_cast<Size>(std::countr_zero(bits)));
    }

    Size width_, n_ = 0;
    std::vector<Stat> sum_, words_;
    std::array<std::uint8_t, 256 + 1> code_;
};

/// One random cut of a numeric feature of a tile.
struct RandomCut {
    std::uint32_t place;  // of the feature in the tile
    Code last;            // codes up to it go left
    double drawn;         // between the values of the node's least and greatest codes
    Stat packed;          // the sum of what goes left, where a word holds it
};

/// The features of a tile side by side: what a random cut of each needs, all in one pass over the rows.
class TileLanes {
  public:
    using Bytes = std::uint8_t __attribute__((vector_size(kWideTileFeatures)));

    /// The least and the greatest code of every feature among some rows.
    static void ranges(Bytes& least, Bytes& greatest, const Tile& tile, std::span<const Row> rows) {
        least = Bytes{} + static_cast<std::uint8_t>(255);
        greatest = Bytes{};
        for (const Row row : rows) {
            const Bytes code = load(tile, row);
            least = least < code ? least : code;
            greatest = greatest > code ? greatest : code;
        }
    }

    /// The packed sums of what goes left of each cut.  words (n_rows,): weights up to max_weight < 256
    static void left_sums(std::span<RandomCut> cuts, const Tile& tile, std::span<const Row> rows,
                          const Bytes& last, const Stat* words, Stat max_weight) {
        const Size chunk =
            255 / static_cast<Size>(max_weight);  // as many rows as a byte holds the weights of
        for (Size begin = 0; begin < rows.size(); begin += chunk) {
            Bytes weight{}, second{};
            for (Size i = begin; i < std::min(rows.size(), begin + chunk); ++i) {
                const auto goes_left = std::bit_cast<Bytes>(load(tile, rows[i]) <= last);
                const Stat word = words[rows[i]];
                weight += goes_left & static_cast<std::uint8_t>(word);
                second += goes_left & static_cast<std::uint8_t>(word >> 32);
            }
            for (RandomCut& cut : cuts)
                cut.packed +=
                    static_cast<Stat>(weight[cut.place]) + (static_cast<Stat>(second[cut.place]) << 32);
        }
    }

  private:
    static Bytes load(const Tile& tile, Row row) {
        Bytes out;
        std::memcpy(&out, tile.codes.data() + row * tile.n, sizeof out);
        return out;
    }
};

}  // namespace spinney
