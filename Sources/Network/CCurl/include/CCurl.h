// The system's libcurl, which is loaded when it is first used. A program that makes no request does not need
// it, and a build does not need its headers.

#pragma once

#include <stddef.h>
#include <stdint.h>

/// Loads the library, once. Returns NULL, or the reason why it cannot be used. Usable from any thread.
const char *dugout_curl_load(void);

/// Blocks SIGPIPE on this thread, which libcurl does not do. A write to a broken connection would end a
/// program that does not ignore the signal. Other threads of the program keep their signals.
void dugout_curl_block_pipe_signal(void);

/// The decision about bytes of an answer. Only bytes of a body can pause a transfer. A paused transfer reads
/// nothing from its connection, and passes the bytes again when it is resumed.
enum dugout_curl_verdict { DUGOUT_CURL_END = 0, DUGOUT_CURL_TAKEN = 1, DUGOUT_CURL_PAUSE = 2 };

/// Takes bytes of an answer. A line of its head comes as a whole.
typedef enum dugout_curl_verdict (*dugout_curl_receiver)(void *context, const uint8_t *bytes, size_t count);

/// Transfers that run together. All functions need a library that is loaded. One thread uses a group, except
/// for `dugout_curl_wake`.
void *dugout_curl_group_create(long connections_per_host);
void dugout_curl_group_destroy(void *group);
/// Runs what can run without waiting.
void dugout_curl_perform(void *group);
/// Waits until there is something to perform, or `dugout_curl_wake`, for this time at most.
void dugout_curl_wait(void *group, int milliseconds);
void dugout_curl_wake(void *group);
/// Returns the context of a transfer that has ended, or NULL. `code` becomes 0, or the number of its error.
void *dugout_curl_next_ended(void *group, int *code);

/// Creates a transfer. Returns NULL without memory. A host that is this machine is reached without a proxy.
void *dugout_curl_transfer_create(
    const char *url, const char *method, void *context, dugout_curl_receiver head,
    dugout_curl_receiver body);
/// Adds a field: "name: value". Returns 0, or -1 without memory.
int dugout_curl_transfer_add_field(void *transfer, const char *line);
/// Copies the body of the request. Returns 0, or -1 without memory. The library reads it once: a request
/// whose body was sent is never sent again on another connection.
int dugout_curl_transfer_set_body(void *transfer, const uint8_t *bytes, size_t count);
/// Returns 0, or -1 without memory.
int dugout_curl_transfer_start(void *group, void *transfer);
/// Resumes a paused transfer, which may pass bytes within this call, and pause again. Returns 0, or the
/// number of an error with which the transfer has to end.
int dugout_curl_transfer_resume(void *transfer);
/// The number of bytes of the body that were sent.
int64_t dugout_curl_transfer_sent(void *transfer);
/// Whether there was a connection to the host, so that the request may have been sent.
int dugout_curl_transfer_was_connected(void *transfer);
/// The description of an error, valid until the end of the transfer.
const char *dugout_curl_transfer_message(void *transfer, int code);
/// Ends a transfer. The group is NULL if it was not started.
void dugout_curl_transfer_destroy(void *group, void *transfer);
