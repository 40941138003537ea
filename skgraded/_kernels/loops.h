// Loops over documents without a branch, which the compiler makes vectors of: for several
// processors where it can, of which the newest that fits is chosen when the module is loaded.
#ifndef SKGRADED_LOOPS_H
#define SKGRADED_LOOPS_H

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Clang has other words for both, and MSVC none.
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
#define VECTORS _Pragma("GCC ivdep") _Pragma("GCC unroll 1")  // not sixteen lines in place of one
#else
#define VECTORS
#endif

// Have what will be read soon brought into the processor's caches.
[[maybe_unused]] static inline void have_near(const void* place) {
#ifdef __GNUC__
    __builtin_prefetch(place);
#else
    (void)place;
#endif
}

// The first n of numbers in another order; those that come later, n_all together, are brought near.
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

// The bits that whole grades have, all together: if below 64, the grades are whole numbers below it.
FOR_PROCESSORS [[maybe_unused]] static uint64_t bits_of_grades(const double* grades, ptrdiff_t n) {
    uint64_t found = 0, others = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        // 2^52 puts a whole number into the lowest bits, and takes off what is after the point
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

// How many bits are set in two rows of words and not in a third.
FOR_PROCESSORS [[maybe_unused]] static int64_t count_common_bits(
    const uint64_t* one, const uint64_t* but_not, const uint64_t* other, ptrdiff_t n_words
) {
    int64_t count = 0;
    for (ptrdiff_t i = 0; i < n_words; i++)
        count += int64_t(std::bitset<64>(one[i] & ~but_not[i] & other[i]).count());
    return count;
}

// The codes of documents in the order of their keys.
FOR_PROCESSORS [[maybe_unused]] static void take_codes(
    const int32_t* codes, const uint64_t* keys, int32_t* ranked, ptrdiff_t n, uint64_t mask
) {
    for (ptrdiff_t i = 0; i < n; i++)
        ranked[i] = codes[keys[i] & mask];
}

// The documents so far by code, where codes are too many for the processor's caches. At the bottom
// stands the number of each code; above, beside each of up to 16 groups, how many documents all
// groups before it hold together, and the sum of their weights. A group is of 16 codes, or of 16
// groups below. All of a step is in two or three places, which vectors go through at once.
struct WideTree {
    const double* weights;  // of each code
    int32_t* counts;
    double* numbers;
    double* sums;
    ptrdiff_t n_codes, n_added;
};

// How many groups stand above n codes, in whole sixteens.
[[maybe_unused]] static ptrdiff_t wide_tree_groups(ptrdiff_t n_codes) {
    ptrdiff_t found = 0;
    for (ptrdiff_t n = (n_codes + 15) / 16; n > 1; n = (n + 15) / 16)
        found += (n + 15) / 16 * 16;
    return found;
}

// Have what `wide_tree_above` will read at the bottom brought near.
[[maybe_unused]] static inline void wide_tree_expect(const WideTree* tree, int32_t code) {
    ptrdiff_t first = code / 16 * 16;
    have_near(tree->counts + first);
    have_near(tree->weights + first);
    have_near(tree->weights + first + 8);
}

// Of 16 groups those after the i-th.
struct After {
    double one[16][16];
    constexpr After() : one() {
        for (int i = 0; i < 16; i++)
            for (int j = i + 1; j < 16; j++)
                one[i][j] = 1.0;
    }
};
static constexpr After AFTER;

FOR_PROCESSORS [[maybe_unused]] static void wide_tree_add(WideTree* tree, int32_t code) {
    if (code <= 0)
        return;  // is higher than none
    double weight = tree->weights[code];
    double* numbers = tree->numbers;
    double* sums = tree->sums;
    tree->n_added += 1;
    tree->counts[code] += 1;
    for (ptrdiff_t n = (tree->n_codes + 15) / 16; n > 1; n = (n + 15) / 16) {
        code /= 16;
        const double* after = AFTER.one[code % 16];
        ptrdiff_t first = code / 16 * 16;
        VECTORS
        for (int i = 0; i < 16; i++)
            numbers[first + i] += after[i];
        VECTORS
        for (int i = 0; i < 16; i++)
            sums[first + i] += weight * after[i];
        numbers += (n + 15) / 16 * 16;
        sums += (n + 15) / 16 * 16;
    }
}

// The sum over all documents of the smaller of both weights.
FOR_PROCESSORS [[maybe_unused]] static double wide_tree_above(
    const WideTree* tree, int32_t code
) {
    int32_t own = code % 16, first = code - own, count = 0, group = code / 16;
    const int32_t* counts = tree->counts + first;
    const double* weights = tree->weights + first;
    const double* numbers = tree->numbers;
    const double* sums = tree->sums;
    double upto = 0.0, sum = 0.0;
    if (first + 16 <= tree->n_codes) {
        double parts[8] = {};  // in an order that all processors can take
        for (int i = 0; i < 8; i++)
            parts[i] += i <= own ? counts[i] * weights[i] : 0.0;
        for (int i = 0; i < 8; i++)
            parts[i] += i + 8 <= own ? counts[i + 8] * weights[i + 8] : 0.0;
        sum = ((parts[0] + parts[4]) + (parts[1] + parts[5]))
            + ((parts[2] + parts[6]) + (parts[3] + parts[7]));
        for (int i = 0; i < 16; i++)
            count += i <= own ? counts[i] : 0;
    } else {
        for (int i = 0; i <= own; i++) {
            sum += counts[i] * weights[i];
            count += counts[i];
        }
    }
    for (ptrdiff_t n = (tree->n_codes + 15) / 16; n > 1; n = (n + 15) / 16) {
        upto += numbers[group];
        sum += sums[group];
        numbers += (n + 15) / 16 * 16;
        sums += (n + 15) / 16 * 16;
        group /= 16;
    }
    return sum + tree->weights[code] * (double(tree->n_added) - upto - count);
}

#endif
