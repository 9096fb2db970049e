// A block of rows as trees of masks read it: planes of one byte or two a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "predict/code_features.hpp"

namespace spinney {

/// The rows of a block are coded into planes, one byte or two a row. A numeric test is `code > rank`, both
/// with their highest bit turned, for processors compare numbers with signs; the code of a missing value is
/// the highest or, in a second plane for the tests that send it to child 0, the lowest. A category feature
/// has a plane for every 254 codes, with 255 for "in no set" and 254 for a missing value, in the first plane.
class MaskPlanes {
  public:
    static constexpr Size block = 256;  // rows
    static constexpr Size part_codes = 254;

    /// Where the planes of one feature are: numbers have `high`, `low` or both.
    struct Feature {
        std::uint32_t high = 0, low = 0, first_part = 0, n_parts = 0;  // in bytes
        bool wide = false;                                             // two bytes a code
    };

    /// Do codes fit these planes?
    static bool suits(const EnsembleCodes& codes) {
        for (const FeatureCodes& f : codes.features)
            if (f.categorical ? f.n_codes > most_parts * part_codes : f.ranks.size() > most_ranks)
                return false;
        return true;
    }

    explicit MaskPlanes(const EnsembleCodes& codes) {
        std::uint32_t at = 0;
        const auto take = [&](bool wanted, Size bytes) {
            const std::uint32_t here = at;
            at += wanted ? static_cast<std::uint32_t>(bytes) : 0;
            return here;
        };
        for (const FeatureCodes& f : codes.features) {
            Feature p;
            if (f.categorical) {
                p.n_parts =
                    static_cast<std::uint32_t>(std::max<Size>((f.n_codes + part_codes - 1) / part_codes, 1));
                p.first_part = take(true, p.n_parts * block);
            } else {
                p.wide = f.ranks.size() > 254;
                p.high = take(f.missing_second, block << p.wide);
                p.low = take(f.missing_first, block << p.wide);
            }
            features_.push_back(p);
        }
        bytes_ = at;
    }

    /// What a block takes.
    Size bytes() const { return bytes_; }

    /// The planes of a feature, by its place among those of the codes.
    const Feature& operator[](Size slot) const { return features_[slot]; }

    /// The lowest is 0.
    template <class T>
    static T signed_code(std::uint32_t code) {
        return static_cast<T>(static_cast<T>(code) ^ std::numeric_limits<T>::min());
    }

    /// Code the rows of a block into planes; rows beyond n get codes of no meaning.  planes (bytes,)
    void code(std::uint8_t* planes, const EnsembleCodes& codes, std::span<const InputColumn> columns,
              Size begin, Size n) const {
        std::uint32_t code[block];
        for (Size s = 0; s < features_.size(); ++s) {
            const FeatureCodes& f = codes.features[s];
            f.code(code, columns[f.feature], begin, n);
            write_planes(planes, features_[s], f, code, n);
        }
    }

  private:
    static constexpr Size most_parts = 8, most_ranks = 65534;

    static void write_planes(std::uint8_t* planes, const Feature& p, const FeatureCodes& f,
                             const std::uint32_t* code, Size n) {
        if (f.categorical) {
            for (Size part = 0; part < p.n_parts; ++part) {
                write_part(planes + p.first_part + part * block, f, code, n, part);
            }
        } else if (p.wide) {
            write_ranks(reinterpret_cast<std::int16_t*>(planes + p.high),
                        reinterpret_cast<std::int16_t*>(planes + p.low), f, code, n);
        } else {
            write_ranks(reinterpret_cast<std::int8_t*>(planes + p.high),
                        reinterpret_cast<std::int8_t*>(planes + p.low), f, code, n);
        }
    }

    template <class T>
    static void write_ranks(T* high, T* low, const FeatureCodes& f, const std::uint32_t* code, Size n) {
        if (f.missing_second) {
            for (Size i = 0; i < n; ++i) high[i] = signed_code<T>(code[i]);
        }
        if (f.missing_first) {
            for (Size i = 0; i < n; ++i) low[i] = signed_code<T>(code[i] == missing_code ? 0 : code[i]);
        }
    }

    static void write_part(std::uint8_t* plane, const FeatureCodes& f, const std::uint32_t* code, Size n,
                           Size part) {
        const auto first = static_cast<std::uint32_t>(part * part_codes);
        const std::uint32_t end = std::min<std::uint32_t>(f.n_codes, first + part_codes);
        for (Size i = 0; i < n; ++i) {
            const bool here = code[i] >= first && code[i] < end;
            const bool missing = part == 0 && code[i] == missing_code;
            plane[i] = static_cast<std::uint8_t>(here ? code[i] - first : missing ? part_codes : 255);
        }
    }

    Size bytes_ = 0;
    std::vector<Feature> features_;
};

}  // namespace spinney
