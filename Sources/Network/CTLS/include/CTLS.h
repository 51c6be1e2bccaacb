// Encrypted connections by OpenSSL 3, without its macros and without sockets: bytes in, bytes out.
//
// Several threads may use a context at once. Two threads must not use a session at once. A session keeps its
// context alive. This header is the same in all builds, but only builds with DUGOUT_TLS define the functions.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define DUGOUT_TLS_NULLABLE _Nullable
#pragma clang assume_nonnull begin
#else
#define DUGOUT_TLS_NULLABLE
#endif

/// The certificates, keys and options that all sessions of a listener or a client share.
typedef struct dugout_tls_context dugout_tls_context;

/// One connection.
typedef struct dugout_tls_session dugout_tls_session;

// MARK: Contexts

/// Creates the context of a server. TLS 1.2 is the oldest version. There is no renegotiation, no compression
/// and no cache of sessions. Returns NULL on failure.
dugout_tls_context *DUGOUT_TLS_NULLABLE dugout_tls_server_context(void);

/// Creates the context of clients that trust the certificates in PEM text, and check them. `is_old` excludes
/// TLS 1.3. Returns NULL on failure.
dugout_tls_context *DUGOUT_TLS_NULLABLE dugout_tls_client_context(const uint8_t *trusted, size_t count,
                                                                  bool is_old);

/// Sets the certificate of a server from PEM text: first the server's own, then its issuers.
bool dugout_tls_use_chain(dugout_tls_context *context, const uint8_t *text, size_t count);

/// Sets the key from PEM text. Call after `dugout_tls_use_chain`. Fails if the key is not the certificate's,
/// or is encrypted.
bool dugout_tls_use_key(dugout_tls_context *context, const uint8_t *text, size_t count);

/// Whether the certificate is valid at present: 0, or -1 if it is not valid yet, or 1 if it has expired.
int dugout_tls_expiry(const dugout_tls_context *context);

void dugout_tls_context_free(dugout_tls_context *context);

/// Writes OpenSSL's reasons for the last failure in this thread, as text that ends with a zero byte. With a
/// session, this includes the reason why the certificate of a server is not trusted.
void dugout_tls_error_text(const dugout_tls_session *DUGOUT_TLS_NULLABLE session, char *text, size_t capacity);

// MARK: Sessions

/// Creates the server's side of a connection. Its output never grows beyond `output_max` bytes. Returns NULL
/// on failure.
dugout_tls_session *DUGOUT_TLS_NULLABLE dugout_tls_accept(const dugout_tls_context *context, size_t output_max);

/// Creates the client's side of a connection to the server with this name or IP address. `protocols` is the
/// list for ALPN in its wire format, and can be empty. Returns NULL on failure.
dugout_tls_session *DUGOUT_TLS_NULLABLE dugout_tls_connect(const dugout_tls_context *context, const char *host,
                                                           const uint8_t *protocols, size_t count,
                                                           size_t output_max);

void dugout_tls_session_free(dugout_tls_session *session);

typedef enum dugout_tls_state {
    DUGOUT_TLS_OPEN,      // there may be more plaintext
    DUGOUT_TLS_STARVED,   // all input is used, and more is needed
    DUGOUT_TLS_ENDED,     // the peer has sent close_notify
    DUGOUT_TLS_OVERFLOW,  // the output has reached its limit
    DUGOUT_TLS_FAILED,    // the peer has broken the protocol, or is not trusted
} dugout_tls_state;

typedef struct dugout_tls_progress {
    dugout_tls_state state;
    size_t input_count;   // the bytes of `input` that were used
    size_t output_count;  // the bytes that were written to `output`
} dugout_tls_progress;

/// Takes encrypted bytes, and writes the plaintext of at most one record. The handshake is part of this: a
/// client begins it with a call without input. After OVERFLOW or FAILED, only the output may be taken.
dugout_tls_progress dugout_tls_receive(dugout_tls_session *session, const uint8_t *DUGOUT_TLS_NULLABLE input,
                                       size_t input_count, uint8_t *output, size_t capacity);

/// Encrypts one to 16384 bytes. Call after the handshake.
dugout_tls_state dugout_tls_send(dugout_tls_session *session, const uint8_t *bytes, size_t count);

/// Adds close_notify to the output if the handshake is complete. Nothing can be sent afterwards.
void dugout_tls_close(dugout_tls_session *session);

/// Returns the encrypted bytes that wait. They stay where they are until the next call with this session.
const uint8_t *DUGOUT_TLS_NULLABLE dugout_tls_output(const dugout_tls_session *session);
size_t dugout_tls_output_count(const dugout_tls_session *session);

/// Removes `count` bytes from the start of the output.
void dugout_tls_output_remove(dugout_tls_session *session, size_t count);

/// Whether the handshake is complete.
bool dugout_tls_is_ready(const dugout_tls_session *session);

/// The version of the protocol: 0x0303 is TLS 1.2, and 0x0304 is TLS 1.3, which is also returned before the
/// peers have agreed.
int dugout_tls_version(const dugout_tls_session *session);

/// The version of HTTP that was chosen by ALPN: 1 or 2, or 0 if the peer does not use ALPN.
int dugout_tls_protocol(const dugout_tls_session *session);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif
