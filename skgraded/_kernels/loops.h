// Loops over documents without a branch, which the compiler makes vectors of: for several
// processors where it can, of which the newest that fits is chosen when the module is loaded.
#ifndef SKGRADED_LOOPS_H
#define SKGRADED_LOOPS_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_ADDRESS__)
#define FOR_PROCESSORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_PROCESSORS
#endif

// Bits whose order as integers is the order of the numbers; 0.0 and -0.0 are the same.
static inline uint64_t ordered_bits(double x) {
    uint64_t bits;
    x += 0.0;
    std::memcpy(&bits, &x, 8);
    return bits ^ ((0 - (bits >> 63)) | (uint64_t(1) << 63));
}

// Keys of scores, the highest first: upper bits of a score, and its position below. Whether a
// score is NaN is returned.
FOR_PROCESSORS [[maybe_unused]] static bool make_keys(
    const double* scores, uint64_t* keys, ptrdiff_t n, uint64_t mask
) {
    uint64_t has_nan = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        has_nan |= uint64_t(scores[i] != scores[i]);
        keys[i] = (ordered_bits(-scores[i]) & ~mask) | uint64_t(i);
    }
    return has_nan != 0;
}

enum Ties { NO_TIES, TIES_BY_KEYS, TIES_BY_SCORES };

// Whether neighbours of sorted keys have the same upper bits, and if so, whether they also have
// the same scores or these have to be looked at.
FOR_PROCESSORS [[maybe_unused]] static int kind_of_ties(
    const uint64_t* keys, ptrdiff_t n, uint64_t mask, const double* scores
) {
    uint64_t equal = 0, differing = 0;
    for (ptrdiff_t i = 1; i < n; i++)
        equal |= uint64_t((keys[i] ^ keys[i - 1]) <= mask);
    if (!equal)
        return NO_TIES;
    for (ptrdiff_t i = 1; i < n; i++)
        differing |= uint64_t((keys[i] ^ keys[i - 1]) <= mask)
            & uint64_t(scores[keys[i] & mask] != scores[keys[i - 1] & mask]);
    return differing ? TIES_BY_SCORES : TIES_BY_KEYS;
}

// Where the block of each of n sorted keys with the same upper bits ends.
[[maybe_unused]] static void mark_blocks(const uint64_t* keys, ptrdiff_t n, uint64_t mask, int32_t* ends) {
    int32_t end = int32_t(n);
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        ends[i] = end;
        // without a branch, which no processor could guess
        end += (int32_t(i) - end) & -int32_t((keys[i] ^ keys[i - 1]) > mask);
    }
    if (n > 0)
        ends[0] = end;
}

// The set of whole grades below 64 as bits; 0 if a grade is another number.
FOR_PROCESSORS [[maybe_unused]] static uint64_t set_of_whole_grades(const double* grades, ptrdiff_t n) {
    uint64_t present = 0, others = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        // 2^52 puts a whole number into the lowest bits, whatever its sign
        double shifted = grades[i] + 4503599627370496.0;
        uint64_t bits;
        std::memcpy(&bits, &shifted, 8);
        others |= uint64_t(!(grades[i] >= 0.0)) | uint64_t(!(grades[i] < 64.0))
            | uint64_t(shifted - 4503599627370496.0 != grades[i]);
        present |= uint64_t(1) << (bits & 63);
    }
    return others ? 0 : present;
}

FOR_PROCESSORS [[maybe_unused]] static void code_whole_grades(
    const double* grades, const int32_t* code_of, int32_t* codes, ptrdiff_t n
) {
    for (ptrdiff_t i = 0; i < n; i++)
        codes[i] = code_of[int32_t(grades[i])];
}

// How many documents have each code 0 to top; those of code -1 are not counted.
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

// The codes of documents in the order of their keys.
FOR_PROCESSORS [[maybe_unused]] static void take_codes(
    const int32_t* codes, const uint64_t* keys, int32_t* ranked, ptrdiff_t n, uint64_t mask
) {
    for (ptrdiff_t i = 0; i < n; i++)
        ranked[i] = codes[keys[i] & mask];
}

#endif
