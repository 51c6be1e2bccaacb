// MD5 (RFC 1321), portable: no processor has instructions for it.

#include "CDigest.h"

#include <string.h>

#include "bytes.h"

#define BLOCK_SIZE 64

static void compress(uint32_t state[4], const uint8_t *blocks, size_t block_count);

// MARK: Public functions

void dugout_md5_init(dugout_md5 *context) {
    *context = (dugout_md5){.state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476}};
}

void dugout_md5_update(dugout_md5 *context, const void *bytes, size_t count) {
    if (count == 0) return;  // `bytes` may be NULL here, and NULL + 0 is undefined
    const uint8_t *next = bytes;
    size_t filled = context->byte_count % BLOCK_SIZE;
    context->byte_count += count;
    if (filled > 0) {
        size_t missing = BLOCK_SIZE - filled;
        size_t taken = count < missing ? count : missing;
        memcpy(context->block + filled, next, taken);
        if (taken < missing) return;
        compress(context->state, context->block, 1);
        next += taken;
        count -= taken;
    }
    size_t block_count = count / BLOCK_SIZE;
    compress(context->state, next, block_count);
    memcpy(context->block, next + block_count * BLOCK_SIZE, count % BLOCK_SIZE);
}

void dugout_md5_final(dugout_md5 *context, uint8_t *digest) {
    static const uint8_t padding[BLOCK_SIZE] = {0x80};
    uint64_t bit_count = context->byte_count * 8;
    uint8_t length[8];
    store_le32(length, (uint32_t)bit_count);
    store_le32(length + 4, (uint32_t)(bit_count >> 32));

    // Padding takes at least one byte, and leaves exactly the space for the length in the last block.
    size_t filled = context->byte_count % BLOCK_SIZE;
    dugout_md5_update(context, padding, filled < 56 ? 56 - filled : 120 - filled);
    dugout_md5_update(context, length, sizeof length);
    for (int i = 0; i < 4; i++) store_le32(digest + 4 * i, context->state[i]);
}

// MARK: Compression

// Entry i is floor(2^32 · |sin(i + 1)|).
static const uint32_t sines[64] = {
    0xD76AA478, 0xE8C7B756, 0x242070DB, 0xC1BDCEEE, 0xF57C0FAF, 0x4787C62A, 0xA8304613, 0xFD469501,
    0x698098D8, 0x8B44F7AF, 0xFFFF5BB1, 0x895CD7BE, 0x6B901122, 0xFD987193, 0xA679438E, 0x49B40821,
    0xF61E2562, 0xC040B340, 0x265E5A51, 0xE9B6C7AA, 0xD62F105D, 0x02441453, 0xD8A1E681, 0xE7D3FBC8,
    0x21E1CDE6, 0xC33707D6, 0xF4D50D87, 0x455A14ED, 0xA9E3E905, 0xFCEFA3F8, 0x676F02D9, 0x8D2A4C8A,
    0xFFFA3942, 0x8771F681, 0x6D9D6122, 0xFDE5380C, 0xA4BEEA44, 0x4BDECFA9, 0xF6BB4B60, 0xBEBFBC70,
    0x289B7EC6, 0xEAA127FA, 0xD4EF3085, 0x04881D05, 0xD9D4D039, 0xE6DB99E5, 0x1FA27CF8, 0xC4AC5665,
    0xF4292244, 0x432AFF97, 0xAB9423A7, 0xFC93A039, 0x655B59C3, 0x8F0CCC92, 0xFFEFF47D, 0x85845DD1,
    0x6FA87E4F, 0xFE2CE6E0, 0xA3014314, 0x4E0811A1, 0xF7537E82, 0xBD3AF235, 0x2AD7D2BB, 0xEB86D391,
};

static inline uint32_t rotate_left(uint32_t value, int bits) {
    return value << bits | value >> (32 - bits);
}

// Combines the three registers that a step of round 0, 1, 2 or 3 only reads.
static inline uint32_t mix0(uint32_t b, uint32_t c, uint32_t d) { return d ^ (b & (c ^ d)); }
static inline uint32_t mix1(uint32_t b, uint32_t c, uint32_t d) { return (c & ~d) | (b & d); }
static inline uint32_t mix2(uint32_t b, uint32_t c, uint32_t d) { return b ^ (c ^ d); }
static inline uint32_t mix3(uint32_t b, uint32_t c, uint32_t d) { return c ^ (b | ~d); }

// The register `a` after one step. `addend` does not depend on the registers, so it is off the critical
// path.
static inline uint32_t step(uint32_t a, uint32_t b, uint32_t mixed, uint32_t addend, int bits) {
    return rotate_left(a + addend + mixed, bits) + b;
}

static void compress(uint32_t state[4], const uint8_t *blocks, size_t block_count) {
    for (; block_count > 0; block_count--, blocks += BLOCK_SIZE) {
        uint32_t w[16];
        for (int t = 0; t < 16; t++) w[t] = load_le32(blocks + 4 * t);

        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        for (int t = 0; t < 16; t += 4) {
            a = step(a, b, mix0(b, c, d), w[t] + sines[t], 7);
            d = step(d, a, mix0(a, b, c), w[t + 1] + sines[t + 1], 12);
            c = step(c, d, mix0(d, a, b), w[t + 2] + sines[t + 2], 17);
            b = step(b, c, mix0(c, d, a), w[t + 3] + sines[t + 3], 22);
        }
        for (int t = 16; t < 32; t += 4) {
            a = step(a, b, mix1(b, c, d), w[(5 * t + 1) % 16] + sines[t], 5);
            d = step(d, a, mix1(a, b, c), w[(5 * t + 6) % 16] + sines[t + 1], 9);
            c = step(c, d, mix1(d, a, b), w[(5 * t + 11) % 16] + sines[t + 2], 14);
            b = step(b, c, mix1(c, d, a), w[(5 * t + 16) % 16] + sines[t + 3], 20);
        }
        for (int t = 32; t < 48; t += 4) {
            a = step(a, b, mix2(b, c, d), w[(3 * t + 5) % 16] + sines[t], 4);
            d = step(d, a, mix2(a, b, c), w[(3 * t + 8) % 16] + sines[t + 1], 11);
            c = step(c, d, mix2(d, a, b), w[(3 * t + 11) % 16] + sines[t + 2], 16);
            b = step(b, c, mix2(c, d, a), w[(3 * t + 14) % 16] + sines[t + 3], 23);
        }
        for (int t = 48; t < 64; t += 4) {
            a = step(a, b, mix3(b, c, d), w[(7 * t) % 16] + sines[t], 6);
            d = step(d, a, mix3(a, b, c), w[(7 * t + 7) % 16] + sines[t + 1], 10);
            c = step(c, d, mix3(d, a, b), w[(7 * t + 14) % 16] + sines[t + 2], 15);
            b = step(b, c, mix3(c, d, a), w[(7 * t + 21) % 16] + sines[t + 3], 21);
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    }
}
