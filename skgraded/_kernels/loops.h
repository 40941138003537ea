// Loops over documents without branches, which the compiler vectorizes, if possible for several
// processor generations. The newest version that the processor supports is chosen at load time.
#ifndef SKGRADED_LOOPS_H
#define SKGRADED_LOOPS_H

#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Clang has different syntax for the attribute and the pragmas, MSVC has neither.
#if defined(__GNUC__) && !defined(__clang__)
#define IS_GCC 1
#else
#define IS_GCC 0
#endif

#if IS_GCC && defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_PROCESSORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_PROCESSORS
#endif

#if IS_GCC
#define VECTORS _Pragma("GCC ivdep") _Pragma("GCC unroll 1")  // vectorize instead of unrolling
#else
#define VECTORS
#endif

// Prefetch memory that will be read soon into the processor's caches.
[[maybe_unused]] static inline void have_near(const void* place) {
#ifdef __GNUC__
    __builtin_prefetch(place);
#else
    (void)place;
#endif
}

// Gather the first n numbers in the given order; later numbers, up to n_all, are prefetched.
[[maybe_unused]] static void gather(
    const double* numbers, const ptrdiff_t* order, ptrdiff_t n, ptrdiff_t n_all, double* gathered
) {
    const ptrdiff_t ahead = 32;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (i + ahead < n_all)
            have_near(&numbers[order[i + ahead]]);
        gathered[i] = numbers[order[i]];
    }
}

// Bits whose order as integers is the order of the numbers; 0.0 and -0.0 have equal bits.
static inline uint64_t ordered_bits(double x) {
    uint64_t bits;
    x += 0.0;
    std::memcpy(&bits, &x, 8);
    return bits ^ ((0 - (bits >> 63)) | (uint64_t(1) << 63));
}

// Keys whose ascending order is the descending order of the scores: the upper bits of a score, and
// its position in the lower bits.
FOR_PROCESSORS [[maybe_unused]] static void make_keys(
    const double* scores, uint64_t* keys, ptrdiff_t n, uint64_t mask
) {
    for (ptrdiff_t i = 0; i < n; i++)
        keys[i] = (ordered_bits(-scores[i]) & ~mask) | uint64_t(i);
}

enum Ties { NO_TIES, TIES_BY_KEYS, TIES_BY_SCORES };

// Whether adjacent sorted keys share upper bits, and if so, whether their scores are always equal
// (TIES_BY_KEYS) or have to be compared (TIES_BY_SCORES).
FOR_PROCESSORS [[maybe_unused]] static int kind_of_ties(
    const uint64_t* keys, ptrdiff_t n, uint64_t mask, const double* scores
) {
    uint64_t equal = 0, differing = 0;
    for (ptrdiff_t i = 1; i < n; i++)
        equal |= uint64_t((keys[i] ^ keys[i - 1]) <= mask);
    if (!equal)
        return NO_TIES;
    double before = scores[keys[0] & mask];
    for (ptrdiff_t i = 1; i < n; i++) {
        double score = scores[keys[i] & mask];
        differing |= uint64_t((keys[i] ^ keys[i - 1]) <= mask) & uint64_t(score != before);
        before = score;
    }
    return differing ? TIES_BY_SCORES : TIES_BY_KEYS;
}

// For each of n sorted keys, the end of its block of keys with the same upper bits.
[[maybe_unused]] static void mark_blocks(const uint64_t* keys, ptrdiff_t n, uint64_t mask, int32_t* ends) {
    int32_t end = int32_t(n);
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        ends[i] = end;
        // no branch, because the processor could not predict it
        end += (int32_t(i) - end) & -int32_t((keys[i] ^ keys[i - 1]) > mask);
    }
    if (n > 0)
        ends[0] = end;
}

// Up to 64 consecutive blocks of ties. Each block has its number of documents per code in 8 bits,
// the sum of its discounts, and its start, which is the end of the previous block. Eight empty
// blocks follow, so that loops process eight blocks at a time.
struct Blocks {
    uint64_t packed[72];
    double discounts[72];
    int32_t starts[73];
    ptrdiff_t n;
};

// The number of documents of the largest block of ties that starts before position n.
FOR_PROCESSORS [[maybe_unused]] static ptrdiff_t longest_block(const int32_t* ends, ptrdiff_t n) {
    int32_t longest = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        longest = ends[i] - int32_t(i) > longest ? ends[i] - int32_t(i) : longest;
    return longest;
}

// Read blocks from a position; return where they end. If `by_rank`, the discount of rank p is 1/p.
// The processor could not predict where a block ends, so there is no branch.
[[maybe_unused]] static inline ptrdiff_t read_blocks(
    const int32_t* codes, const int32_t* ends, ptrdiff_t start, ptrdiff_t end,
    const double* discount, bool by_rank, Blocks* blocks
) {
    uint64_t packed = 0;
    double discounts = 0.0;
    ptrdiff_t n = 0, p = start;
    blocks->starts[0] = int32_t(start);
    for (; p < end && n < 64; p++) {
        uint64_t is_last = ends[p] == p + 1, bits;
        packed += uint64_t(1) << (8 * codes[p]);
        discounts += by_rank ? 1.0 / double(p + 1) : discount ? discount[p] : 1.0;
        blocks->packed[n] = packed;
        blocks->discounts[n] = discounts;
        blocks->starts[n + 1] = int32_t(p + 1);
        n += ptrdiff_t(is_last);
        packed &= is_last - 1;
        std::memcpy(&bits, &discounts, 8);
        bits &= is_last - 1;
        std::memcpy(&discounts, &bits, 8);
    }
    for (int i = 0; i < 8; i++) {
        blocks->packed[n + i] = 0;
        blocks->discounts[n + i] = 0.0;
        blocks->starts[n + i + 1] = int32_t(p + i + 1);
    }
    blocks->n = n;
    return p;
}

// Number of documents of a block with a code, converted without a slow instruction: the bits equal
// the bits of 2^52 + count.
static inline double count_of(uint64_t packed, ptrdiff_t code) {
    uint64_t bits = (packed >> (8 * code) & 255) | 0x4330000000000000u;
    double count;
    std::memcpy(&count, &bits, 8);
    return count - 4503599627370496.0;
}

// A sum to which each block adds its mean value, multiplied by its discounts.
FOR_PROCESSORS [[maybe_unused]] static double add_gains(
    double total, const Blocks* blocks, const double* values, ptrdiff_t n_levels
) {
    for (ptrdiff_t b = 0; b < blocks->n; b += 8) {
        double gains[8] = {};
        for (ptrdiff_t level = 0; level < n_levels; level++) {
            VECTORS
            for (int i = 0; i < 8; i++) {
                gains[i] += count_of(blocks->packed[b + i], level) * values[level];
            }
        }
        VECTORS
        for (int i = 0; i < 8; i++)
            gains[i] = gains[i] / (blocks->starts[b + i + 1] - blocks->starts[b + i])
                * blocks->discounts[b + i];
        for (int i = 0; i < 8; i++)
            total += gains[i];
    }
    return total;
}

// Σ discount · value over a list without ties. Within a larger function, the compiler may keep the
// total in memory, which takes a third more time.
FOR_PROCESSORS [[maybe_unused]] static double sum_in_order(
    const int32_t* codes, ptrdiff_t n, const double* values, const double* discount
) {
    double total = 0.0;
    for (ptrdiff_t i = 0; i < n; i++)
        total += values[codes[i]] * discount[i];
    return total;
}

// A PAIR sum to which each block of n documents below a documents adds Σ_i (x + (i-1)·m̄) / (a+i),
// see `block_sum`. With the sum D of the discounts 1/(a+i), this is x·D + m̄·(n - (a+1)·D).
FOR_PROCESSORS [[maybe_unused]] static double add_pairs(
    double total, const Blocks* blocks, const double* step, double* hits, int32_t top
) {
    double means[72] = {}, pairs[72] = {};
    for (ptrdiff_t b = 0; b < blocks->n; b++) {
        double c = 0.0;
        for (int32_t i = top; i > 0; i--) {
            c += count_of(blocks->packed[b], i);
            means[b] += step[i] * c * (hits[i] + 1.0);
            pairs[b] += step[i] * c * (c - 1.0);
            hits[i] += c;
        }
    }
    for (ptrdiff_t b = 0; b < blocks->n; b += 8) {
        double sums[8];
        VECTORS
        for (int i = 0; i < 8; i++) {
            double before = blocks->starts[b + i], n = blocks->starts[b + i + 1] - before;
            double n_pairs = n * (n - 1.0) + (n == 1.0), discounts = blocks->discounts[b + i];
            sums[i] = means[b + i] / n * discounts
                + pairs[b + i] / n_pairs * (n - (before + 1.0) * discounts);
        }
        for (int i = 0; i < 8; i++)
            total += sums[i];
    }
    return total;
}

const double HALF_A_BIT = 1.0 / (uint64_t(1) << 54);  // terms below do not change a sum near 1

// Write the probability S_i to stop at the i-th document of a block of ties; return the length of
// S, at most `depth`.
//
// S_i = E[value(x_i) · Π_{j<i} (1 - value(x_j))] over all orders of the block. Let G_i be the
// expected product Π over the first i documents. When a document of value v joins m others, it is
// among the first i with probability i/(m+1), and is the i-th with probability 1/(m+1):
//
//     G_i ← ((m+1-i) G_i + i (1-v) G_{i-1}) / (m+1)
//     S_i ← ((m+1-i) S_i + (i-1) (1-v) S_{i-1} + v G_{i-1}) / (m+1)
//
// By Maclaurin's inequality, G_i ≤ (1 - mean value)^i, so all terms beyond the length of S are
// below the rounding error of their sum. At most 41 n / v steps are needed for n documents, where v
// is the lowest value above 0.
static inline ptrdiff_t stop_in_block(
    const int32_t* codes, ptrdiff_t n, ptrdiff_t depth, const double* values, double* stops
) {
    ptrdiff_t m = 0;  // the documents with value 0, and later those that are added
    double mean = 0.0;
    for (ptrdiff_t p = 0; p < n; p++) {
        mean += values[codes[p]];
        m += values[codes[p]] <= 0.0;
    }
    if (m == n)
        return 0;
    ptrdiff_t reach = ptrdiff_t(std::fmin(
        double(n < depth ? n : depth), std::ceil(std::log(1e-18) / std::log1p(-mean / n)) + 1.0
    ));
    double* going_on = stops + reach + 1;
    for (ptrdiff_t i = 0; i <= reach; i++) {
        stops[i] = 0.0;
        going_on[i] = 1.0;
    }
    for (ptrdiff_t p = 0; p < n; p++) {
        double v = values[codes[p]], share = 1.0 / double(m + 1), on = 1.0 - v;
        if (v <= 0.0)
            continue;
        for (ptrdiff_t i = m + 1 < reach ? m + 1 : reach; i > 0; i--) {
            stops[i] = share * (
                (m + 1 - i) * stops[i] + (i - 1) * on * stops[i - 1] + v * going_on[i - 1]
            );
            going_on[i] = share * ((m + 1 - i) * going_on[i] + i * on * going_on[i - 1]);
        }
        m += 1;
    }
    return reach;
}

// The CASCADE sum of a list with ties; `stops` has room for 2 (depth + 1) numbers. It is not in
// sums.pyx, because the compiler would inline it, which makes other sums up to 45 % slower.
FOR_PROCESSORS [[maybe_unused]] static double cascade_in_blocks(
    const int32_t* codes, const int32_t* ends, ptrdiff_t depth, const double* values, double* stops
) {
    double total = 0.0, going_on = 1.0;
    // The remaining terms add up to at most going_on, and soon no longer change the sum.
    for (ptrdiff_t start = 0, end; start < depth && going_on > HALF_A_BIT * total; start = end) {
        end = ends[start];
        if (end - start == 1) {
            total += going_on * values[codes[start]] / double(end);
        } else {
            double here = 0.0;
            ptrdiff_t n = stop_in_block(codes + start, end - start, depth - start, values, stops);
            for (ptrdiff_t i = n; i > 0; i--)  // small terms first, to reduce rounding
                here += stops[i] / double(start + i);
            total += going_on * here;
        }
        for (ptrdiff_t p = start; p < end; p++)
            going_on *= 1.0 - values[codes[p]];
    }
    return total;
}

// Bitwise or of whole grades, or 64 if a grade is not whole. Below 64, no grade exceeds the result.
FOR_PROCESSORS [[maybe_unused]] static uint64_t bits_of_grades(const double* grades, ptrdiff_t n) {
    uint64_t found = 0, others = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        // adding 2^52 moves a whole number into the lowest bits, and rounds fractions
        double shifted = grades[i] + 4503599627370496.0;
        double whole = shifted - 4503599627370496.0;
        double given = grades[i] + 0.0;
        uint64_t bits, bits_of_whole, bits_given;
        std::memcpy(&bits, &shifted, 8);
        std::memcpy(&bits_of_whole, &whole, 8);
        std::memcpy(&bits_given, &given, 8);
        found |= bits ^ 0x4330000000000000u;
        others |= bits_of_whole ^ bits_given;
    }
    return others ? 64 : found;
}

FOR_PROCESSORS [[maybe_unused]] static void whole_grades_to_codes(
    const double* grades, int32_t* codes, ptrdiff_t n
) {
    for (ptrdiff_t i = 0; i < n; i++)
        codes[i] = int32_t(grades[i]);
}

FOR_PROCESSORS [[maybe_unused]] static void recode(
    int32_t* codes, const int32_t* code_of, ptrdiff_t n
) {
    for (ptrdiff_t i = 0; i < n; i++)
        codes[i] = code_of[codes[i]];
}

// The number of documents with each code from 0 to top; code -1 is not counted.
FOR_PROCESSORS [[maybe_unused]] static void count_codes(
    const int32_t* codes, ptrdiff_t n, int32_t top, int32_t* counts
) {
    if (top < 8) {
        for (int32_t code = 0; code <= top; code++) {
            int32_t count = 0;
            for (ptrdiff_t i = 0; i < n; i++)
                count += codes[i] == code;
            counts[code] = count;
        }
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        if (codes[i] >= 0)
            counts[codes[i]] += 1;
}

// The number of bits that are set in two rows of words but not in a third row.
FOR_PROCESSORS [[maybe_unused]] static int64_t count_common_bits(
    const uint64_t* one, const uint64_t* but_not, const uint64_t* other, ptrdiff_t n_words
) {
    int64_t count = 0;
    for (ptrdiff_t i = 0; i < n_words; i++)
        count += int64_t(std::bitset<64>(one[i] & ~but_not[i] & other[i]).count());
    return count;
}

// The codes of the documents in the order of their keys.
FOR_PROCESSORS [[maybe_unused]] static void take_codes(
    const int32_t* codes, const uint64_t* keys, int32_t* ranked, ptrdiff_t n, uint64_t mask
) {
    for (ptrdiff_t i = 0; i < n; i++)
        ranked[i] = codes[keys[i] & mask];
}

#endif
