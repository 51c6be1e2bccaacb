// SHA-256 (FIPS 180-4): one implementation of buffering and padding, three of the compression of blocks.

#include "CDigest.h"

#include <stdatomic.h>
#include <string.h>

#include "bytes.h"
#include "cpu.h"

#define BLOCK_SIZE 64

typedef void (*compress_function)(uint32_t state[8], const uint8_t *blocks, size_t block_count);

static void compress(dugout_sha256 *context, const uint8_t *blocks, size_t block_count);
static void compress_portable(uint32_t state[8], const uint8_t *blocks, size_t block_count);
static compress_function best_compress(void);

// MARK: Public functions

void dugout_sha256_init(dugout_sha256 *context) {
    // The fractional parts of the square roots of the first 8 primes.
    *context = (dugout_sha256){.state = {
        0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
    }};
}

void dugout_sha256_init_portable(dugout_sha256 *context) {
    dugout_sha256_init(context);
    context->portable = 1;
}

void dugout_sha256_update(dugout_sha256 *context, const void *bytes, size_t count) {
    if (count == 0) return;  // `bytes` may be NULL here, and NULL + 0 is undefined
    const uint8_t *next = bytes;
    size_t filled = context->byte_count % BLOCK_SIZE;
    context->byte_count += count;
    if (filled > 0) {
        size_t missing = BLOCK_SIZE - filled;
        size_t taken = count < missing ? count : missing;
        memcpy(context->block + filled, next, taken);
        if (taken < missing) return;
        compress(context, context->block, 1);
        next += taken;
        count -= taken;
    }
    size_t block_count = count / BLOCK_SIZE;
    compress(context, next, block_count);
    memcpy(context->block, next + block_count * BLOCK_SIZE, count % BLOCK_SIZE);
}

void dugout_sha256_final(dugout_sha256 *context, uint8_t *digest) {
    static const uint8_t padding[BLOCK_SIZE] = {0x80};
    uint64_t bit_count = context->byte_count * 8;
    uint8_t length[8];
    store_be32(length, (uint32_t)(bit_count >> 32));
    store_be32(length + 4, (uint32_t)bit_count);

    // Padding takes at least one byte, and leaves exactly the space for the length in the last block.
    size_t filled = context->byte_count % BLOCK_SIZE;
    dugout_sha256_update(context, padding, filled < 56 ? 56 - filled : 120 - filled);
    dugout_sha256_update(context, length, sizeof length);
    for (int i = 0; i < 8; i++) store_be32(digest + 4 * i, context->state[i]);
}

// MARK: Choosing the compression function

static _Atomic(compress_function) chosen;

static void compress(dugout_sha256 *context, const uint8_t *blocks, size_t block_count) {
    if (context->portable) {
        compress_portable(context->state, blocks, block_count);
        return;
    }
    // Relaxed order suffices, because racing threads choose the same code and publish nothing else with
    // it.
    compress_function best = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!best) {
        best = best_compress();
        atomic_store_explicit(&chosen, best, memory_order_relaxed);
    }
    best(context->state, blocks, block_count);
}

// The fractional parts of the cube roots of the first 64 primes.
static const uint32_t k[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

// MARK: Portable

static inline uint32_t rotate_right(uint32_t value, int bits) {
    return value >> bits | value << (32 - bits);
}

// One round. Only `d` and `h` change. The caller rotates the eight roles instead of moving the values.
static inline void one_round(
    uint32_t a, uint32_t b, uint32_t c, uint32_t *d,
    uint32_t e, uint32_t f, uint32_t g, uint32_t *h, uint32_t word) {
    uint32_t choice = g ^ (e & (f ^ g));
    uint32_t majority = (a & b) | (c & (a | b));
    uint32_t sum = *h + word + choice + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25));
    *d += sum;
    *h = sum + majority + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22));
}

static void compress_portable(uint32_t state[8], const uint8_t *blocks, size_t block_count) {
    for (; block_count > 0; block_count--, blocks += BLOCK_SIZE) {
        uint32_t w[64];
        for (int t = 0; t < 16; t++) w[t] = load_be32(blocks + 4 * t);
        for (int t = 16; t < 64; t++) {
            uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3;
            uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10;
            w[t] = w[t - 16] + s0 + w[t - 7] + s1;
        }

        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int t = 0; t < 64; t += 8) {
            one_round(a, b, c, &d, e, f, g, &h, w[t] + k[t]);
            one_round(h, a, b, &c, d, e, f, &g, w[t + 1] + k[t + 1]);
            one_round(g, h, a, &b, c, d, e, &f, w[t + 2] + k[t + 2]);
            one_round(f, g, h, &a, b, c, d, &e, w[t + 3] + k[t + 3]);
            one_round(e, f, g, &h, a, b, c, &d, w[t + 4] + k[t + 4]);
            one_round(d, e, f, &g, h, a, b, &c, w[t + 5] + k[t + 5]);
            one_round(c, d, e, &f, g, h, a, &b, w[t + 6] + k[t + 6]);
            one_round(b, c, d, &e, f, g, h, &a, w[t + 7] + k[t + 7]);
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

// MARK: Special instructions
// Both versions hold the message schedule as four vectors of four words, w0 the oldest, and run sixteen
// steps of four rounds. From the fifth step on, each step first replaces the oldest vector with the next
// one.

#if defined(DUGOUT_X86_64)

#include <immintrin.h>

#define WITH_SHA __attribute__((target("sha,sse4.1")))

WITH_SHA static inline __m128i load_words(const uint8_t *bytes) {
    const __m128i big_endian = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)bytes), big_endian);
}

WITH_SHA static inline __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    __m128i seven_back = _mm_alignr_epi8(w3, w2, 4);
    return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), seven_back), w3);
}

// The instruction does two rounds: it returns the new abef, and the old abef is the new cdgh.
WITH_SHA static inline void four_rounds(
    __m128i *abef, __m128i *cdgh, __m128i words, const uint32_t *constants) {
    __m128i sum = _mm_add_epi32(words, _mm_loadu_si128((const __m128i *)constants));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

WITH_SHA static void compress_hardware(uint32_t state[8], const uint8_t *blocks, size_t block_count) {
    // Memory holds the state as abcd efgh. The instructions need it as the vectors abef and cdgh, with
    // the first letter in the highest lane.
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);

    for (; block_count > 0; block_count--, blocks += BLOCK_SIZE) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w0 = load_words(blocks), w1 = load_words(blocks + 16);
        __m128i w2 = load_words(blocks + 32), w3 = load_words(blocks + 48);
        four_rounds(&abef, &cdgh, w0, k);
        four_rounds(&abef, &cdgh, w1, k + 4);
        four_rounds(&abef, &cdgh, w2, k + 8);
        four_rounds(&abef, &cdgh, w3, k + 12);
        for (int t = 16; t < 64; t += 16) {
            four_rounds(&abef, &cdgh, w0 = next_words(w0, w1, w2, w3), k + t);
            four_rounds(&abef, &cdgh, w1 = next_words(w1, w2, w3, w0), k + t + 4);
            four_rounds(&abef, &cdgh, w2 = next_words(w2, w3, w0, w1), k + t + 8);
            four_rounds(&abef, &cdgh, w3 = next_words(w3, w0, w1, w2), k + t + 12);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }

    __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#elif defined(DUGOUT_ARM64)

#include <arm_neon.h>

#define WITH_SHA __attribute__((target("+crypto")))

WITH_SHA static inline uint32x4_t load_words(const uint8_t *bytes) {
    return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes)));
}

WITH_SHA static inline uint32x4_t next_words(uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3) {
    return vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
}

WITH_SHA static inline void four_rounds(
    uint32x4_t *abcd, uint32x4_t *efgh, uint32x4_t words, const uint32_t *constants) {
    uint32x4_t sum = vaddq_u32(words, vld1q_u32(constants));
    uint32x4_t abcd_before = *abcd;
    *abcd = vsha256hq_u32(*abcd, *efgh, sum);
    *efgh = vsha256h2q_u32(*efgh, abcd_before, sum);
}

WITH_SHA static void compress_hardware(uint32_t state[8], const uint8_t *blocks, size_t block_count) {
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);

    for (; block_count > 0; block_count--, blocks += BLOCK_SIZE) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w0 = load_words(blocks), w1 = load_words(blocks + 16);
        uint32x4_t w2 = load_words(blocks + 32), w3 = load_words(blocks + 48);
        four_rounds(&abcd, &efgh, w0, k);
        four_rounds(&abcd, &efgh, w1, k + 4);
        four_rounds(&abcd, &efgh, w2, k + 8);
        four_rounds(&abcd, &efgh, w3, k + 12);
        for (int t = 16; t < 64; t += 16) {
            four_rounds(&abcd, &efgh, w0 = next_words(w0, w1, w2, w3), k + t);
            four_rounds(&abcd, &efgh, w1 = next_words(w1, w2, w3, w0), k + t + 4);
            four_rounds(&abcd, &efgh, w2 = next_words(w2, w3, w0, w1), k + t + 8);
            four_rounds(&abcd, &efgh, w3 = next_words(w3, w0, w1, w2), k + t + 12);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }

    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

#endif

static compress_function best_compress(void) {
#if defined(DUGOUT_X86_64) || defined(DUGOUT_ARM64)
    if (dugout_cpu_has_sha256()) return compress_hardware;
#endif
    return compress_portable;
}
