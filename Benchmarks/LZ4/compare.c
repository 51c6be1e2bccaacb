// Compares the speed of CPortableLZ4 with liblz4: sample records of about 236 bytes with a dictionary of 32
// KiB, as in segments, and blocks of 64 KiB, as in files.
// docs/benchmarks/method.md has the command.
//
// Each line shows the fastest pass of each codec; the passes of both alternate. The ratio is the own speed
// divided by liblz4's. The decoders read the blocks that liblz4 wrote. Fails if a decoder's result is wrong.

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "CPortableLZ4.h"

enum {
    DICTIONARY = 32 << 10,
    RECORDS = 2000,
    RECORD_MAX = 512,
    BLOCK = 64 << 10,
    BLOCKS = 16,
    PASSES = 31,
};

// MARK: Samples

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static const char *const words[] = {
    "light", "river", "stone", "garden", "window", "summer", "letter", "station", "silver", "morning",
    "bridge", "paper", "winter", "market", "island", "yellow", "number", "forest", "harbour", "evening",
};

static uint8_t *append(uint8_t *end, const void *bytes, size_t count) {
    memcpy(end, bytes, count);
    return end + count;
}

static uint8_t *append_random(uint8_t *end, size_t count) {
    while (count-- > 0) *end++ = (uint8_t)random_below(256);
    return end;
}

static uint8_t *append_words(uint8_t *end, int count) {
    for (int i = 0; i < count; i++) {
        const char *word = words[random_below(sizeof words / sizeof words[0])];
        if (i > 0) *end++ = ' ';
        end = append(end, word, strlen(word));
    }
    return end;
}

/// Writes a record: a head, offsets, an id, texts, a town, numbers and a list. Returns its size.
static size_t make_record(uint8_t *record) {
    static const uint8_t head[] = {3, 11, 0, 24, 0, 40, 0, 57, 0, 66, 0, 77, 0, 85, 0, 93, 0, 101, 0, 160};
    uint8_t *end = append(record, head, sizeof head);
    for (int i = 0; i < 20; i++) *end++ = (uint8_t)('a' + random_below(26));
    end = append_words(end, 2);
    end = append(end, "@example.com", 12);
    end = append_random(end, 6);
    end = append(end, "users/town-", 11);
    *end++ = (uint8_t)('0' + random_below(10));
    end = append_random(end, 8);
    end = append(end, "\0\0\0\0\6\0", 6);
    end = append_words(end, 15);
    end = append_random(end, 7);
    end = append(end, "\5\3tags", 6);
    end = append_words(end, 3);
    return (size_t)(end - record);
}

/// Writes a block of text with members like JSON.
static void make_block(uint8_t *block) {
    size_t count = 0;
    while (count < BLOCK) {
        char line[512];
        uint8_t text[256];
        *append_words(text, 6) = 0;
        int size = snprintf(
            line, sizeof line, "{\"id\": %u, \"name\": \"%s\", \"score\": %u.%u, \"active\": %s},\n",
            random_below(1000000), (char *)text, random_below(60000), random_below(1000),
            random_below(2) ? "true" : "false");
        size_t copied = (size_t)size < BLOCK - count ? (size_t)size : BLOCK - count;
        memcpy(block + count, line, copied);
        count += copied;
    }
}

// MARK: Samples, compressed

typedef struct sample {
    void *plain, *stored;
    int plain_count, stored_count;
} sample;

static uint8_t dictionary[DICTIONARY];
static sample records[RECORDS], blocks[BLOCKS];
static dugout_lz4_dictionary prepared;
static LZ4_stream_t prepared_stream, working_stream;
static uint8_t output[DICTIONARY + BLOCK + 1024];
/// The part of the output behind a dictionary.
static void *const content = output + DICTIONARY;

static int encode_record(const sample *sample, void *target, int capacity) {
    memcpy(&working_stream, &prepared_stream, sizeof working_stream);
    return LZ4_compress_fast_continue(
        &working_stream, sample->plain, target, sample->plain_count, capacity, 1);
}

static void make_samples(void) {
    for (size_t count = 0; count < DICTIONARY;) {
        uint8_t record[RECORD_MAX];
        size_t size = make_record(record);
        size_t copied = size < DICTIONARY - count ? size : DICTIONARY - count;
        memcpy(dictionary + count, record, copied);
        count += copied;
    }
    dugout_lz4_prepare(&prepared, dictionary, DICTIONARY);
    LZ4_initStream(&prepared_stream, sizeof prepared_stream);
    LZ4_loadDict(&prepared_stream, (char *)dictionary, DICTIONARY);
    for (int i = 0; i < RECORDS; i++) {
        records[i].plain = malloc(RECORD_MAX);
        records[i].stored = malloc(RECORD_MAX);
        records[i].plain_count = (int)make_record(records[i].plain);
        records[i].stored_count = encode_record(&records[i], records[i].stored, RECORD_MAX);
    }
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i].plain = malloc(BLOCK);
        blocks[i].stored = malloc(BLOCK);
        blocks[i].plain_count = BLOCK;
        make_block(blocks[i].plain);
        blocks[i].stored_count = LZ4_compress_default(blocks[i].plain, blocks[i].stored, BLOCK, BLOCK);
    }
}

// MARK: Operations

typedef long (*operation)(const sample *sample);

static long own_decode_near(const sample *s) {
    return dugout_lz4_decode_with_dictionary(
        s->stored, (size_t)s->stored_count, content, (size_t)s->plain_count, output, DICTIONARY);
}

static long system_decode_near(const sample *s) {
    return LZ4_decompress_safe_usingDict(
        s->stored, content, s->stored_count, s->plain_count, (char *)output, DICTIONARY);
}

static long own_decode_far(const sample *s) {
    return dugout_lz4_decode_with_dictionary(
        s->stored, (size_t)s->stored_count, content, (size_t)s->plain_count, dictionary, DICTIONARY);
}

static long system_decode_far(const sample *s) {
    return LZ4_decompress_safe_usingDict(
        s->stored, content, s->stored_count, s->plain_count, (char *)dictionary, DICTIONARY);
}

static long own_decode(const sample *s) {
    return dugout_lz4_decode(s->stored, (size_t)s->stored_count, content, (size_t)s->plain_count);
}

static long system_decode(const sample *s) {
    return LZ4_decompress_safe(s->stored, content, s->stored_count, s->plain_count);
}

static long own_encode_record(const sample *s) {
    return (long)dugout_lz4_encode_with_dictionary(
        &prepared, s->plain, (size_t)s->plain_count, output, (size_t)s->plain_count);
}

static long system_encode_record(const sample *s) {
    return encode_record(s, output, s->plain_count);
}

static long own_encode(const sample *s) {
    return (long)dugout_lz4_encode(s->plain, (size_t)s->plain_count, output, sizeof output);
}

static long system_encode(const sample *s) {
    return LZ4_compress_default(s->plain, (char *)output, s->plain_count, (int)sizeof output);
}

// MARK: Measuring

static double nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double pass(operation run, const sample *samples, int count, int repetitions, long *bytes) {
    double start = nanoseconds();
    long sum = 0;
    for (int repetition = 0; repetition < repetitions; repetition++) {
        for (int i = 0; i < count; i++) sum += run(&samples[i]);
    }
    *bytes = sum / repetitions;
    return (nanoseconds() - start) / repetitions / count;
}

static double least(const double times[PASSES]) {
    double least = times[0];
    for (int i = 1; i < PASSES; i++) {
        if (times[i] < least) least = times[i];
    }
    return least;
}

static void compare(
    const char *name, operation own, operation system, const sample *samples, int count, int repetitions) {
    double own_times[PASSES], system_times[PASSES];
    long own_bytes, system_bytes, plain = 0;
    for (int i = 0; i < count; i++) plain += samples[i].plain_count;
    for (int i = 0; i < PASSES; i++) {
        own_times[i] = pass(own, samples, count, repetitions, &own_bytes);
        system_times[i] = pass(system, samples, count, repetitions, &system_bytes);
    }
    double a = least(own_times), b = least(system_times);
    printf(
        "%-38s own %8.0f ns  liblz4 %8.0f ns  ratio %.2f  bytes %5.1f %% and %5.1f %%\n", name, a, b, b / a,
        100.0 * (double)own_bytes / (double)plain, 100.0 * (double)system_bytes / (double)plain);
}

static void verify(const char *name, operation decode, const sample *samples, int count) {
    for (int i = 0; i < count; i++) {
        memset(content, 0, (size_t)samples[i].plain_count);
        if (decode(&samples[i]) == samples[i].plain_count &&
            memcmp(content, samples[i].plain, (size_t)samples[i].plain_count) == 0)
            continue;
        fprintf(stderr, "%s: sample %d is decoded wrongly.\n", name, i);
        exit(1);
    }
}

int main(void) {
    make_samples();
    memcpy(output, dictionary, DICTIONARY);
    verify("dictionary before the output", own_decode_near, records, RECORDS);
    verify("dictionary elsewhere", own_decode_far, records, RECORDS);
    verify("blocks", own_decode, blocks, BLOCKS);
    compare("decode record, dictionary near", own_decode_near, system_decode_near, records, RECORDS, 10);
    compare("decode record, dictionary far", own_decode_far, system_decode_far, records, RECORDS, 10);
    compare("decode 64 KiB", own_decode, system_decode, blocks, BLOCKS, 10);
    compare("encode record", own_encode_record, system_encode_record, records, RECORDS, 2);
    compare("encode 64 KiB", own_encode, system_encode, blocks, BLOCKS, 2);
    return 0;
}
