// Numbers and copies of a fixed size at any alignment, and the limits of the block format.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum {
    SHORTEST_MATCH = 4,
    LONGEST_OFFSET = 65535,
    // A block ends with at least so many literals.
    LAST_LITERALS = 5,
    // The last match begins at least so many bytes before the end of the content.
    LAST_MATCH_DISTANCE = 12,
    // The value of either half of a token that continues in the bytes that follow.
    NIBBLE_MAX = 15,
};

ALWAYS_INLINE uint32_t load_le16(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

ALWAYS_INLINE uint32_t load_le32(const uint8_t *bytes) {
    return load_le16(bytes) | load_le16(bytes + 2) << 16;
}

ALWAYS_INLINE uint64_t load_le64(const uint8_t *bytes) {
    return (uint64_t)load_le32(bytes) | (uint64_t)load_le32(bytes + 4) << 32;
}

// The copies of a fixed size compile to moves. All bytes are read before the first is written.

ALWAYS_INLINE void copy4(uint8_t *target, const uint8_t *source) {
    uint32_t value;
    memcpy(&value, source, 4);
    memcpy(target, &value, 4);
}

ALWAYS_INLINE void copy8(uint8_t *target, const uint8_t *source) {
    uint64_t value;
    memcpy(&value, source, 8);
    memcpy(target, &value, 8);
}

ALWAYS_INLINE void copy16(uint8_t *target, const uint8_t *source) {
    uint64_t values[2];
    memcpy(values, source, 16);
    memcpy(target, values, 16);
}
