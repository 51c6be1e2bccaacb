// The decoder.
//
//   block    := sequence* last
//   sequence := token literalLength* literal* offset:u16 matchLength*
//   last     := token literalLength* literal*
//
// The high half of a token is the number of literals, the low half is the length of the match minus four. A
// half of 15 continues in bytes that are added to it, up to the first byte below 255. A match copies bytes
// that lie `offset` before the end of the content so far.
//
// A sequence of at most 14 literals and 18 bytes of match is short. Far from both ends, short sequences are
// copied in steps of fixed size, which may write past the last byte of the sequence. The lengths of all other
// sequences are read and verified first.

#include <stdbool.h>

#include "CPortableLZ4.h"
#include "bytes.h"

enum {
    // At least so many bytes follow a match: a token and the last literals.
    INPUT_AFTER_MATCH = 1 + LAST_LITERALS,
    // At least so many bytes follow the literals of a sequence that is not the last.
    INPUT_AFTER_LITERALS = 2 + INPUT_AFTER_MATCH,
    // The length that a token with a low half of 15 gives a match before the bytes that are added.
    CONTINUED_MATCH = NIBBLE_MAX + SHORTEST_MATCH,
    // A short sequence has at most 14 literals and 18 bytes of match.
    SHORT_INPUT = 14 + INPUT_AFTER_LITERALS,
    SHORT_OUTPUT = 14 + 18 + LAST_LITERALS,
    // A loose copy may write so many bytes past its end, and read as many.
    SLACK = 32,
};

// MARK: Copies

/// Copies `count` bytes. May write up to SLACK bytes more, and read as many.
ALWAYS_INLINE void copy_loosely(uint8_t *target, const uint8_t *source, size_t count) {
    uint8_t *const end = target + count;
    do {
        copy16(target, source);
        copy16(target + 16, source + 16);
        target += 32;
        source += 32;
    } while (target < end);
}

/// Copies exactly `count` bytes. Short copies are frequent at the end of a block.
ALWAYS_INLINE void copy_exactly(uint8_t *target, const uint8_t *source, size_t count) {
    if (count > 16) {
        memcpy(target, source, count);
    } else if (count >= 8) {
        copy8(target, source);
        copy8(target + count - 8, source + count - 8);
    } else if (count >= 4) {
        copy4(target, source);
        copy4(target + count - 4, source + count - 4);
    } else {
        for (size_t i = 0; i < count; i++) target[i] = source[i];
    }
}

/// Copies `count` bytes that begin `offset` bytes before `target`, in order, so that a copy may repeat its
/// own output. May write up to SLACK bytes more.
ALWAYS_INLINE void copy_match_loosely(uint8_t *target, size_t offset, size_t count) {
    const uint8_t *source = target - offset;
    if (LIKELY(offset >= 16)) {
        copy_loosely(target, source, count);
        return;
    }
    uint8_t *const end = target + count;
    if (offset < 8) {
        // After eight bytes, the nearest multiple of the offset that is at least 8 repeats the same bytes.
        static const uint8_t distances[8] = {0, 8, 8, 9, 8, 10, 12, 14};
        for (int i = 0; i < 8; i++) target[i] = source[i];
        target += 8;
        source = target - distances[offset];
    }
    while (target < end) {
        copy8(target, source);
        target += 8;
        source += 8;
    }
}

/// Copies exactly `count` bytes, as `copy_match_loosely` does.
ALWAYS_INLINE void copy_match_exactly(uint8_t *target, size_t offset, size_t count) {
    const uint8_t *source = target - offset;
    if (offset >= 8 && count >= 8) {
        // The last step overlaps the one before it.
        for (; count > 8; count -= 8, target += 8, source += 8) copy8(target, source);
        copy8(target - 8 + count, source - 8 + count);
        return;
    }
    if (offset >= 4 && count >= 4 && count <= 8) {
        copy4(target, source);
        copy4(target + count - 4, source + count - 4);
        return;
    }
    for (size_t i = 0; i < count; i++) target[i] = source[i];
}

// MARK: Lengths

/// Adds the bytes of a length to `*length`. Returns NULL if they do not end before `end`, or if the length
/// exceeds `max`.
ALWAYS_INLINE const uint8_t *read_length(
    const uint8_t *input, const uint8_t *end, size_t max, size_t *length) {
    uint8_t byte;
    do {
        if (UNLIKELY(input >= end || *length > max)) return NULL;
        byte = *input++;
        *length += byte;
    } while (byte == 255);
    return *length > max ? NULL : input;
}

// MARK: Blocks

/// `low` is the first byte before the content that a match may copy if the dictionary precedes the output. If
/// it is elsewhere, `is_apart` is true, `low` is the start of the output, and the dictionary has
/// `apart_count` bytes before `apart_end`.
ALWAYS_INLINE ptrdiff_t decode(
    const uint8_t *input, size_t input_count, uint8_t *const start, size_t capacity, const uint8_t *low,
    const uint8_t *apart_end, size_t apart_count, const bool is_apart) {
    if (UNLIKELY(input_count == 0)) return -1;
    if (UNLIKELY(capacity == 0)) return input_count == 1 && *input == 0 ? 0 : -1;
    const uint8_t *const input_end = input + input_count;
    uint8_t *output = start;
    uint8_t *const output_end = output + capacity;
    const uint8_t *const short_input = input_count < SHORT_INPUT ? input : input_end - SHORT_INPUT + 1;
    const uint8_t *const short_output = capacity < SHORT_OUTPUT ? output : output_end - SHORT_OUTPUT + 1;

    for (;;) {
        const unsigned token = *input++;
        size_t literals = token >> 4;
        size_t match = (token & NIBBLE_MAX) + SHORTEST_MATCH;
        size_t offset;

        if (LIKELY(literals < NIBBLE_MAX && input < short_input && output < short_output)) {
            copy16(output, input);
            output += literals;
            input += literals;
            offset = load_le16(input);
            input += 2;
            if (LIKELY(match < CONTINUED_MATCH && offset >= 8 && offset <= (size_t)(output - low))) {
                const uint8_t *source = output - offset;
                copy8(output, source);
                copy8(output + 8, source + 8);
                memcpy(output + 16, source + 16, 2);
                output += match;
                continue;
            }
        } else {
            if (literals == NIBBLE_MAX) {
                input = read_length(input, input_end, capacity, &literals);
                if (UNLIKELY(!input)) return -1;
            }
            const size_t input_left = (size_t)(input_end - input);
            const size_t output_left = (size_t)(output_end - output);
            if (literals > input_left || literals > output_left) return -1;
            const size_t input_after = input_left - literals;
            const size_t output_after = output_left - literals;
            if (output_after < LAST_MATCH_DISTANCE || input_after < INPUT_AFTER_LITERALS) {
                if (input_after != 0) return -1;
                copy_exactly(output, input, literals);
                return output + literals - start;
            }
            if (LIKELY(literals > 16 && output_after >= SLACK && input_after >= SLACK)) {
                copy_loosely(output, input, literals);
            } else {
                copy_exactly(output, input, literals);
            }
            output += literals;
            input += literals;
            offset = load_le16(input);
            input += 2;
        }

        const size_t output_left = (size_t)(output_end - output);
        if (match == CONTINUED_MATCH) {
            input = read_length(input, input_end, capacity, &match);
            if (UNLIKELY(!input || input_end - input < INPUT_AFTER_MATCH)) return -1;
        }
        if (UNLIKELY(match > output_left - LAST_LITERALS || offset == 0)) return -1;

        const size_t reach = (size_t)(output - low);
        if (UNLIKELY(offset > reach)) {
            if (!is_apart) return -1;
            const size_t before = offset - reach;
            if (before > apart_count) return -1;
            const size_t copied = match < before ? match : before;
            if (LIKELY(output_left - copied >= SLACK && before - copied >= SLACK)) {
                copy_loosely(output, apart_end - before, copied);
            } else {
                copy_exactly(output, apart_end - before, copied);
            }
            output += copied;
            match -= copied;
            // The match continues at the start of the content, which is again `offset` bytes before.
            if (match == 0) continue;
            copy_match_exactly(output, offset, match);
        } else if (LIKELY(output_left - match >= SLACK)) {
            copy_match_loosely(output, offset, match);
        } else {
            copy_match_exactly(output, offset, match);
        }
        output += match;
    }
}

ptrdiff_t dugout_lz4_decode(const void *block, size_t block_count, void *output, size_t capacity) {
    return decode(block, block_count, output, capacity, output, NULL, 0, false);
}

ptrdiff_t dugout_lz4_decode_with_dictionary(
    const void *block, size_t block_count, void *output, size_t capacity, const void *dictionary,
    size_t dictionary_count) {
    if (dictionary_count == 0) return dugout_lz4_decode(block, block_count, output, capacity);
    const uint8_t *end = (const uint8_t *)dictionary + dictionary_count;
    if (end == output) return decode(block, block_count, output, capacity, dictionary, NULL, 0, false);
    return decode(block, block_count, output, capacity, output, end, dictionary_count, true);
}
