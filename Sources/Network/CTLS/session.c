// One connection. OpenSSL reads from the caller's bytes, and writes to a buffer that is freed when empty.

#include "CTLS.h"

#ifdef DUGOUT_TLS

#include "openssl.h"

#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dugout_tls_session {
    SSL *ssl;
    const uint8_t *input;  // only set within a call
    size_t input_count;
    uint8_t *output;
    size_t output_start;
    size_t output_end;
    size_t output_capacity;
    size_t output_max;
    bool has_overflowed;
    bool has_failed;
};

// MARK: The BIO of a session

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static BIO_METHOD *method;

static int read_input(BIO *bio, char *buffer, int count) {
    dugout_tls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (session->input_count == 0 || count <= 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t taken = session->input_count < (size_t)count ? session->input_count : (size_t)count;
    memcpy(buffer, session->input, taken);
    session->input += taken;
    session->input_count -= taken;
    return (int)taken;
}

// Makes room for `count` bytes at the end of the output.
static bool reserve_output(dugout_tls_session *session, size_t count) {
    size_t used = session->output_end - session->output_start;
    if (used > session->output_max || count > session->output_max - used) return false;
    if (count <= session->output_capacity - session->output_end) return true;
    size_t capacity = session->output_capacity > 0 ? session->output_capacity : 512;
    while (capacity < used + count) capacity *= 2;
    uint8_t *output = malloc(capacity);
    if (output == NULL) return false;
    if (used > 0) memcpy(output, session->output + session->output_start, used);
    free(session->output);
    session->output = output;
    session->output_start = 0;
    session->output_end = used;
    session->output_capacity = capacity;
    return true;
}

static int write_output(BIO *bio, const char *bytes, int count) {
    dugout_tls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count <= 0) return 0;
    if (!reserve_output(session, (size_t)count)) {
        session->has_overflowed = true;
        return -1;
    }
    memcpy(session->output + session->output_end, bytes, (size_t)count);
    session->output_end += (size_t)count;
    return count;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static void create_method(void) {
    BIO_METHOD *created = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "dugout");
    if (created == NULL) return;
    if (BIO_meth_set_read(created, read_input) && BIO_meth_set_write(created, write_output)
        && BIO_meth_set_ctrl(created, control))
        method = created;
    else
        BIO_meth_free(created);
}

// MARK: Creation

static dugout_tls_session *new_session(const dugout_tls_context *context, size_t output_max) {
    ERR_clear_error();
    if (!CRYPTO_THREAD_run_once(&once, create_method) || method == NULL) return NULL;
    dugout_tls_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->output_max = output_max;
    session->ssl = SSL_new((SSL_CTX *)context);
    BIO *bio = session->ssl != NULL ? BIO_new(method) : NULL;
    if (bio == NULL) {
        dugout_tls_session_free(session);
        return NULL;
    }
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    SSL_set_bio(session->ssl, bio, bio);
    return session;
}

dugout_tls_session *dugout_tls_accept(const dugout_tls_context *context, size_t output_max) {
    dugout_tls_session *session = new_session(context, output_max);
    if (session != NULL) SSL_set_accept_state(session->ssl);
    return session;
}

// Makes OpenSSL compare the server's certificate with an IP address or a name. Only a name is sent to the
// server.
static bool expect_host(SSL *ssl, const char *host) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host)) return true;
    ERR_clear_error();
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host);
}

dugout_tls_session *dugout_tls_connect(const dugout_tls_context *context, const char *host, const uint8_t *protocols,
                                       size_t count, size_t output_max) {
    dugout_tls_session *session = new_session(context, output_max);
    if (session == NULL) return NULL;
    SSL_set_connect_state(session->ssl);
    // `SSL_set_alpn_protos` returns 0 on success, unlike other functions.
    if (expect_host(session->ssl, host)
        && (count == 0 || SSL_set_alpn_protos(session->ssl, protocols, (unsigned int)count) == 0))
        return session;
    dugout_tls_session_free(session);
    return NULL;
}

void dugout_tls_session_free(dugout_tls_session *session) {
    SSL_free(session->ssl);
    free(session->output);
    free(session);
}

// MARK: Bytes

static dugout_tls_state state_after(dugout_tls_session *session, int result) {
    int error = SSL_get_error(session->ssl, result);
    if (error == SSL_ERROR_NONE && !session->has_overflowed) return DUGOUT_TLS_OPEN;
    if (error == SSL_ERROR_WANT_READ && !session->has_overflowed) return DUGOUT_TLS_STARVED;
    if (error == SSL_ERROR_ZERO_RETURN && !session->has_overflowed) return DUGOUT_TLS_ENDED;
    session->has_failed = true;
    return session->has_overflowed ? DUGOUT_TLS_OVERFLOW : DUGOUT_TLS_FAILED;
}

dugout_tls_progress dugout_tls_receive(dugout_tls_session *session, const uint8_t *input, size_t input_count,
                                       uint8_t *output, size_t capacity) {
    dugout_tls_progress progress = {DUGOUT_TLS_FAILED, 0, 0};
    if (session->has_failed) return progress;
    ERR_clear_error();
    session->input = input;
    session->input_count = input_count;
    int result = SSL_read_ex(session->ssl, output, capacity, &progress.output_count);
    progress.state = state_after(session, result);
    progress.input_count = input_count - session->input_count;
    session->input = NULL;
    session->input_count = 0;
    return progress;
}

dugout_tls_state dugout_tls_send(dugout_tls_session *session, const uint8_t *bytes, size_t count) {
    if (session->has_failed) return DUGOUT_TLS_FAILED;
    ERR_clear_error();
    size_t written = 0;
    dugout_tls_state state = state_after(session, SSL_write_ex(session->ssl, bytes, count, &written));
    if (state == DUGOUT_TLS_OPEN && written == count) return state;
    // OpenSSL would have to be given the same bytes again. That happens only if the peer has begun a message
    // of the handshake and has not ended it, which no client does after its handshake.
    session->has_failed = true;
    return state == DUGOUT_TLS_OVERFLOW ? state : DUGOUT_TLS_FAILED;
}

void dugout_tls_close(dugout_tls_session *session) {
    if (session->has_failed || !SSL_is_init_finished(session->ssl)) return;
    if ((SSL_get_shutdown(session->ssl) & SSL_SENT_SHUTDOWN) != 0) return;
    ERR_clear_error();
    SSL_shutdown(session->ssl);
    ERR_clear_error();
}

const uint8_t *dugout_tls_output(const dugout_tls_session *session) {
    return session->output == NULL ? NULL : session->output + session->output_start;
}

size_t dugout_tls_output_count(const dugout_tls_session *session) {
    return session->output_end - session->output_start;
}

void dugout_tls_output_remove(dugout_tls_session *session, size_t count) {
    if (count < session->output_end - session->output_start) {
        session->output_start += count;
        return;
    }
    free(session->output);
    session->output = NULL;
    session->output_start = session->output_end = session->output_capacity = 0;
}

// MARK: State

bool dugout_tls_is_ready(const dugout_tls_session *session) { return SSL_is_init_finished(session->ssl); }

int dugout_tls_version(const dugout_tls_session *session) { return SSL_version(session->ssl); }

int dugout_tls_protocol(const dugout_tls_session *session) {
    const unsigned char *name = NULL;
    unsigned int count = 0;
    SSL_get0_alpn_selected(session->ssl, &name, &count);
    return count == 0 ? 0 : count == 2 ? 2 : 1;
}

// MARK: Errors

void dugout_tls_error_text(const dugout_tls_session *session, char *text, size_t capacity) {
    size_t used = 0;
    long verification = session == NULL ? X509_V_OK : SSL_get_verify_result(session->ssl);
    if (capacity > 0) text[0] = 0;
    for (;;) {
        const char *data = "";
        int flags = 0;
        unsigned long error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags);
        if (error == 0) break;
        if (used + 1 >= capacity) continue;
        const char *reason = ERR_reason_error_string(error);
        bool has_data = (flags & ERR_TXT_STRING) != 0 && data[0] != 0;
        int written = snprintf(text + used, capacity - used, "%s%s%s%s%s", used > 0 ? ", " : "",
                               reason != NULL ? reason : "unknown error", has_data ? " (" : "", has_data ? data : "",
                               has_data ? ")" : "");
        used = written < 0 || (size_t)written >= capacity - used ? capacity : used + (size_t)written;
    }
    if (verification != X509_V_OK && used + 1 < capacity)
        snprintf(text + used, capacity - used, "%s%s", used > 0 ? ": " : "",
                 X509_verify_cert_error_string(verification));
}

#endif
