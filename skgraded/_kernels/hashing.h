// Hash functions. Without a seed, results are the same on every machine and in every version. Hash
// tables use a random seed, so that nobody can construct ids that share a place.
#ifndef SKGRADED_HASHING_H
#define SKGRADED_HASHING_H

#include <cstddef>
#include <cstdint>
#include <cstring>

// Spread the bits of a number over all 64 (splitmix64). Different numbers have different results.
static inline uint64_t mixed_bits(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    return bits ^ (bits >> 31);
}

// Read 8 bytes, of which the first is the least significant.
static inline uint64_t little_endian(const uint8_t* bytes) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

// Hash the bytes 8 at a time. The last 8 bytes may overlap the bytes before, which is unambiguous
// because the number of bytes is also hashed.
[[maybe_unused]] static uint64_t hash_of_bytes(
    const uint8_t* bytes, ptrdiff_t n, uint64_t seed = 0
) {
    uint64_t hash = (UINT64_C(0x9E3779B97F4A7C15) * (uint64_t(n) + 1)) ^ seed, word = 0;
    if (n < 8) {
        for (ptrdiff_t i = 0; i < n; i++)
            word |= uint64_t(bytes[i]) << (8 * i);
        return mixed_bits(hash ^ word);
    }
    for (ptrdiff_t i = 0; i + 8 < n; i += 8)
        hash = mixed_bits(hash ^ little_endian(bytes + i)) + UINT64_C(0x9E3779B97F4A7C15);
    return mixed_bits(hash ^ little_endian(bytes + n - 8));
}

// Whether two texts of n bytes are equal; faster than a call of memcmp for short texts.
[[maybe_unused]] static inline bool same_bytes(const uint8_t* a, const uint8_t* b, ptrdiff_t n) {
    if (n < 8)
        return n == 0 || std::memcmp(a, b, size_t(n)) == 0;
    for (ptrdiff_t i = 0; i + 8 < n; i += 8)
        if (little_endian(a + i) != little_endian(b + i))
            return false;
    return little_endian(a + n - 8) == little_endian(b + n - 8);
}

// Copy n bytes; faster than a call of memcpy for texts of 8 to 16 bytes.
[[maybe_unused]] static inline void copy_bytes(uint8_t* copy, const uint8_t* bytes, ptrdiff_t n) {
    if (n < 8 || n > 16) {
        if (n > 0)
            std::memcpy(copy, bytes, size_t(n));
        return;
    }
    std::memcpy(copy, bytes, 8);
    std::memcpy(copy + n - 8, bytes + n - 8, 8);
}

// A text in a hash table. Texts of up to 16 bytes are stored in two words, which may overlap, so
// that comparisons read no other memory. For longer texts, the words are the hash and the address.
// All texts of a table have the same seed.
struct Text {
    uint64_t first, second;
    int64_t length;

    Text() = default;

    Text(const uint8_t* bytes, int64_t n, uint64_t seed) : first(0), second(0), length(n) {
        if (n > 16) {
            first = hash_of_bytes(bytes, ptrdiff_t(n), seed);
            second = uint64_t(uintptr_t(bytes));
        } else if (n >= 8) {
            first = little_endian(bytes);
            second = little_endian(bytes + n - 8);
        } else {
            for (int64_t i = 0; i < n; i++)
                first |= uint64_t(bytes[i]) << (8 * i);
        }
    }

    uint64_t hash(uint64_t seed) const {
        if (length > 16)
            return first;
        return mixed_bits((mixed_bits(first ^ seed) ^ second) + uint64_t(length));
    }

    bool equals(const Text& other) const {
        if (length != other.length || first != other.first)
            return false;
        if (length <= 16)
            return second == other.second;
        return same_bytes(
            reinterpret_cast<const uint8_t*>(uintptr_t(second)),
            reinterpret_cast<const uint8_t*>(uintptr_t(other.second)), ptrdiff_t(length)
        );
    }
};

#endif
