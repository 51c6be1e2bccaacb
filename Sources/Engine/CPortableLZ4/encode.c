// The encoder: greedy, with one candidate per hash.
//
// 1. At each position, the hash of the next bytes gives the last position with the same hash, first in the
//    input, then in the dictionary. Equal bytes there are a match.
// 2. A match is extended backwards over literals and forwards, and is written with the literals before it.
// 3. While no match is found, the steps become longer. Incompressible input is therefore passed quickly.
//
// The tables keep the low 16 bits of positions. With the current position they give a distance of at most
// LONGEST_OFFSET, however long the input is. A wrong distance only leads to bytes that are not equal.

#include <stdbool.h>

#include "CPortableLZ4.h"
#include "bytes.h"

enum {
    TABLE_BITS_MIN = 6,
    TABLE_BITS_MAX = 13,
    // The step grows by one after so many positions without a match: two to the power of this.
    PATIENCE_BITS = 6,
};

// MARK: Hashes

/// Returns a hash whose high bits are the best ones.
ALWAYS_INLINE uint32_t hash(uint32_t value) { return value * 0x9E3779B1u; }

ALWAYS_INLINE uint32_t high_bits(uint32_t hash, int bits) { return hash >> (32 - bits); }

void dugout_lz4_prepare(dugout_lz4_dictionary *prepared, const void *dictionary, size_t dictionary_count) {
    memset(prepared, 0, sizeof *prepared);
    if (dictionary_count < SHORTEST_MATCH) return;
    const size_t count = dictionary_count < LONGEST_OFFSET ? dictionary_count : LONGEST_OFFSET;
    const uint8_t *bytes = (const uint8_t *)dictionary + (dictionary_count - count);
    prepared->bytes = bytes;
    prepared->count = count;
    for (size_t i = 0; i <= count - SHORTEST_MATCH; i++) {
        prepared->positions[high_bits(hash(load_le32(bytes + i)), DUGOUT_LZ4_DICTIONARY_BITS)] = (uint16_t)i;
    }
}

// MARK: Matches

ALWAYS_INLINE size_t trailing_zero_bytes(uint64_t word) { return (size_t)__builtin_ctzll(word) / 8; }

/// Returns how many bytes are equal, at most `max`.
ALWAYS_INLINE size_t count_equal(const uint8_t *a, const uint8_t *b, size_t max) {
    size_t count = 0;
    for (; max - count >= 8; count += 8) {
        const uint64_t difference = load_le64(a + count) ^ load_le64(b + count);
        if (difference) return count + trailing_zero_bytes(difference);
    }
    while (count < max && a[count] == b[count]) count++;
    return count;
}

// MARK: Sequences

ALWAYS_INLINE size_t length_bytes(size_t length) {
    return length < NIBBLE_MAX ? 0 : (length - NIBBLE_MAX) / 255 + 1;
}

ALWAYS_INLINE unsigned nibble(size_t length) { return length < NIBBLE_MAX ? (unsigned)length : NIBBLE_MAX; }

/// Writes the bytes of a length that its half of the token does not hold.
ALWAYS_INLINE uint8_t *write_length(uint8_t *output, size_t length) {
    if (length < NIBBLE_MAX) return output;
    for (length -= NIBBLE_MAX; length >= 255; length -= 255) *output++ = 255;
    *output++ = (uint8_t)length;
    return output;
}

typedef struct sequence {
    const uint8_t *literals;
    size_t literal_count;
    size_t readable;  // how many bytes of input begin at `literals`
    size_t distance;
    size_t length;
} sequence;

/// Writes a sequence that is not the last. Returns NULL if the block would not fit with its last literals.
ALWAYS_INLINE uint8_t *write_sequence(uint8_t *output, const uint8_t *end, sequence sequence) {
    const size_t count = sequence.literal_count;
    const size_t coded = sequence.length - SHORTEST_MATCH;
    const size_t needed = 1 + length_bytes(count) + count + 2 + length_bytes(coded);
    const size_t left = (size_t)(end - output);
    if (UNLIKELY(left < needed + 1 + LAST_LITERALS)) return NULL;
    *output++ = (uint8_t)(nibble(count) << 4 | nibble(coded));
    output = write_length(output, count);
    if (LIKELY(count <= 16 && sequence.readable >= 16 && left >= 2 + 16)) {
        copy16(output, sequence.literals);
    } else {
        memcpy(output, sequence.literals, count);
    }
    output += count;
    *output++ = (uint8_t)sequence.distance;
    *output++ = (uint8_t)(sequence.distance >> 8);
    return write_length(output, coded);
}

/// Writes the last literals. Returns NULL if they do not fit.
ALWAYS_INLINE uint8_t *write_last(
    uint8_t *output, const uint8_t *end, const uint8_t *literals, size_t count) {
    if ((size_t)(end - output) < 1 + length_bytes(count) + count) return NULL;
    *output++ = (uint8_t)(nibble(count) << 4);
    output = write_length(output, count);
    memcpy(output, literals, count);
    return output + count;
}

// MARK: Blocks

/// Returns the size of a block. `dictionary` is used only if `has_dictionary` is true.
ALWAYS_INLINE size_t encode(
    const dugout_lz4_dictionary *dictionary, const uint8_t *const input, const size_t count,
    uint8_t *const start, const size_t capacity, const bool has_dictionary) {
    if (capacity == 0) return 0;
    if (count == 0) {
        *start = 0;  // a token without literals
        return 1;
    }
    uint8_t *output = start;
    const uint8_t *const output_end = start + capacity;
    size_t anchor = 0;  // the first byte that no sequence contains

    if (count > LAST_MATCH_DISTANCE) {
        int bits = TABLE_BITS_MIN;
        while (bits < TABLE_BITS_MAX && (size_t)1 << bits < count) bits++;
        uint16_t positions[1 << TABLE_BITS_MAX];
        memset(positions, 0, sizeof positions[0] << bits);

        const size_t last_position = count - LAST_MATCH_DISTANCE;
        const size_t match_end = count - LAST_LITERALS;
        size_t position = 0;
        while (position <= last_position) {
            size_t tries = 1 << PATIENCE_BITS;
            size_t distance;
            const uint8_t *source, *source_low = input;
            const uint8_t *source_end = NULL;  // the end of the dictionary if the match begins there
            for (;;) {
                const uint32_t value = load_le32(input + position);
                const uint32_t hashed = hash(value);
                uint16_t *slot = &positions[high_bits(hashed, bits)];
                distance = (uint16_t)(position - *slot);
                *slot = (uint16_t)position;
                if (distance > 0 && distance <= position) {
                    source = input + position - distance;
                    if (load_le32(source) == value) break;
                }
                if (has_dictionary) {
                    const size_t at = dictionary->positions[high_bits(hashed, DUGOUT_LZ4_DICTIONARY_BITS)];
                    distance = dictionary->count - at + position;
                    source = dictionary->bytes + at;
                    if (distance <= LONGEST_OFFSET && load_le32(source) == value) {
                        source_low = dictionary->bytes;
                        source_end = dictionary->bytes + dictionary->count;
                        break;
                    }
                }
                position += tries++ >> PATIENCE_BITS;
                if (position > last_position) goto last;
            }

            const size_t max = match_end - position;
            size_t length = SHORTEST_MATCH;
            if (has_dictionary && source_end) {
                const size_t before = (size_t)(source_end - source);
                const size_t limit = before < max ? before : max;
                length += count_equal(source + length, input + position + length, limit - length);
                // The content follows the dictionary, so the match may continue there.
                if (length == before) length += count_equal(input, input + position + length, max - length);
            } else {
                length += count_equal(source + length, input + position + length, max - length);
            }
            while (position > anchor && source > source_low && input[position - 1] == source[-1]) {
                position--;
                source--;
                length++;
            }

            const sequence found = {
                .literals = input + anchor,
                .literal_count = position - anchor,
                .readable = count - anchor,
                .distance = distance,
                .length = length,
            };
            output = write_sequence(output, output_end, found);
            if (UNLIKELY(!output)) return 0;
            position += length;
            anchor = position;
            if (position <= last_position) {
                const size_t inserted = position - 2;
                positions[high_bits(hash(load_le32(input + inserted)), bits)] = (uint16_t)inserted;
            }
        }
    }

last:
    output = write_last(output, output_end, input + anchor, count - anchor);
    return output ? (size_t)(output - start) : 0;
}

size_t dugout_lz4_encode(const void *input, size_t count, void *output, size_t capacity) {
    return encode(NULL, input, count, output, capacity, false);
}

size_t dugout_lz4_encode_with_dictionary(
    const dugout_lz4_dictionary *prepared, const void *input, size_t count, void *output, size_t capacity) {
    if (prepared->count == 0) return dugout_lz4_encode(input, count, output, capacity);
    return encode(prepared, input, count, output, capacity, true);
}

size_t dugout_lz4_bound(size_t count) { return 1 + length_bytes(count) + count; }

uint32_t dugout_lz4_version(void) { return DUGOUT_LZ4_VERSION; }
