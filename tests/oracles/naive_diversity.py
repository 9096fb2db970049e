"""The measures of diversity by their definitions: one pair and one row at a time, in fractions."""

from collections import Counter
from fractions import Fraction
from math import log2, sqrt


def weights_of(rows, weights):
    return [Fraction(1)] * len(rows) if weights is None else [Fraction(w) for w in weights]


def table(first, second, positive, weights=None):
    """Return a, b, c, d: both, only the first, only the second, neither says what is in ``positive``."""
    cells = Counter()
    for i, j, p, w in zip(first, second, positive, weights_of(first, weights), strict=True):
        cells[i == p, j == p] += w
    return cells[True, True], cells[True, False], cells[False, True], cells[False, False]


def disagreement(first, second, weights=None):
    w = weights_of(first, weights)
    return float(sum(v for i, j, v in zip(first, second, w, strict=True) if i != j) / sum(w))


def kappa(first, second, weights=None):
    w = weights_of(first, weights)
    total = sum(w)
    agreed = sum(v for i, j, v in zip(first, second, w, strict=True) if i == j) / total
    shares = []
    for answers in (first, second):
        share = Counter()
        for answer, v in zip(answers, w, strict=True):
            share[answer] += v / total
        shares.append(share)
    chance = sum(shares[0][label] * shares[1][label] for label in shares[0])
    return 1.0 if chance == 1 else float((agreed - chance) / (1 - chance))


def _when_constant(a, b, c, d):
    return 1.0 if b == c == 0 else -1.0 if a == d == 0 else 0.0


def correlation(a, b, c, d):
    spread = (a + b) * (a + c) * (c + d) * (b + d)
    return float(a * d - b * c) / sqrt(spread) if spread else _when_constant(a, b, c, d)


def q_statistic(a, b, c, d):
    return float((a * d - b * c) / (a * d + b * c)) if a * d + b * c else _when_constant(a, b, c, d)


def mean(values, weights):
    w = weights_of(values, weights)
    return sum(v * x for v, x in zip(values, w, strict=True)) / sum(w)


def wrong_counts(rows, y):
    return [sum(answer != truth for answer in row) for row, truth in zip(rows, y, strict=True)]


def entropy_of_labels(rows, weights=None):
    def bits(row):
        return -sum(n / len(row) * log2(n / len(row)) for n in Counter(row).values())

    return float(mean([Fraction(bits(row)) for row in rows], weights))


def entropy(rows, y, weights=None):
    T = len(rows[0])
    most = T - -(-T // 2)
    return float(mean([Fraction(min(k, T - k), most) for k in wrong_counts(rows, y)], weights))


def kohavi_wolpert(rows, y, weights=None):
    T = len(rows[0])
    return float(mean([Fraction(k * (T - k), T * T) for k in wrong_counts(rows, y)], weights))


def fleiss(rows, weights=None):
    """Fleiss' κ from the chance that two different members of a row agree."""
    T, w = len(rows[0]), weights_of(rows, weights)
    agreed = mean([Fraction(sum(n * (n - 1) for n in Counter(row).values()), T * (T - 1)) for row in rows], w)
    share = Counter()
    for row, v in zip(rows, w, strict=True):
        for label in row:
            share[label] += v / (T * sum(w))
    chance = sum(p * p for p in share.values())
    return 1.0 if chance == 1 else float((agreed - chance) / (1 - chance))


def difficulty(rows, y, weights=None):
    T = len(rows[0])
    shares = [Fraction(T - k, T) for k in wrong_counts(rows, y)]
    middle = mean(shares, weights)
    return float(mean([(share - middle) ** 2 for share in shares], weights))


def failure_shares(rows, y, weights=None):
    """Return p_i, the share of rows on which exactly i members fail."""
    w = weights_of(rows, weights)
    shares = [Fraction(0)] * (len(rows[0]) + 1)
    for k, v in zip(wrong_counts(rows, y), w, strict=True):
        shares[k] += v / sum(w)
    return shares


def generalized_diversity(rows, y, weights=None):
    p, T = failure_shares(rows, y, weights), len(rows[0])
    one = sum(Fraction(i, T) * p[i] for i in range(T + 1))
    two = sum(Fraction(i * (i - 1), T * (T - 1)) * p[i] for i in range(T + 1))
    return float(1 - two / one) if one else 0.0


def coincident_failure(rows, y, weights=None):
    p, T = failure_shares(rows, y, weights), len(rows[0])
    return (
        float(sum(Fraction(T - i, T - 1) * p[i] for i in range(1, T + 1)) / (1 - p[0])) if p[0] < 1 else 0.0
    )
