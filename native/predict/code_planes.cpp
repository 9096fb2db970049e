#include "predict/code_planes.hpp"

#include <algorithm>

namespace spinney {

namespace {

constexpr Size max_parts = 8, max_ranks = 65534;

template <class T>
void write_ranks(T* high, T* low, const FeatureCodes& f, const std::uint32_t* code, Size n) {
    if (f.missing_right)
        for (Size i = 0; i < n; ++i) high[i] = CodePlanes::signed_code<T>(code[i]);
    if (f.missing_left)
        for (Size i = 0; i < n; ++i)
            low[i] = CodePlanes::signed_code<T>(code[i] == missing_code ? 0 : code[i]);
}

void write_part(std::uint8_t* plane, const FeatureCodes& f, const std::uint32_t* code, Size n, Size part) {
    const auto first = static_cast<std::uint32_t>(part * CodePlanes::part_codes);
    const std::uint32_t end = std::min<std::uint32_t>(f.n_codes, first + CodePlanes::part_codes);
    for (Size i = 0; i < n; ++i) {
        const bool here = code[i] >= first && code[i] < end;
        const bool missing = part == 0 && code[i] == missing_code;
        plane[i] = static_cast<std::uint8_t>(here ? code[i] - first : missing ? CodePlanes::part_codes : 255);
    }
}

}  // namespace

bool CodePlanes::suits(const EnsembleCodes& codes) {
    for (const FeatureCodes& f : codes.features)
        if (f.categorical ? f.n_codes > max_parts * part_codes : f.ranks.size() > max_ranks) return false;
    return true;
}

CodePlanes::CodePlanes(const EnsembleCodes& codes) {
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
            p.high = take(f.missing_right, block << p.wide);
            p.low = take(f.missing_left, block << p.wide);
        }
        features_.push_back(p);
    }
    bytes_ = at;
}

void CodePlanes::code(std::uint8_t* planes, const EnsembleCodes& codes, std::span<const InputColumn> columns,
                      Size begin, Size n) const {
    std::uint32_t code[block];
    for (Size s = 0; s < features_.size(); ++s) {
        const FeatureCodes& f = codes.features[s];
        const Feature& p = features_[s];
        f.code(code, columns[f.feature], begin, n);
        if (f.categorical) {
            for (Size part = 0; part < p.n_parts; ++part)
                write_part(planes + p.first_part + part * block, f, code, n, part);
        } else if (p.wide) {
            write_ranks(reinterpret_cast<std::int16_t*>(planes + p.high),
                        reinterpret_cast<std::int16_t*>(planes + p.low), f, code, n);
        } else {
            write_ranks(reinterpret_cast<std::int8_t*>(planes + p.high),
                        reinterpret_cast<std::int8_t*>(planes + p.low), f, code, n);
        }
    }
}

}  // namespace spinney
