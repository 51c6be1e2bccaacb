// Certificates, keys and options.

#include "CTLS.h"

#ifdef DUGOUT_TLS

#include "openssl.h"

#include <openssl/pem.h>
#include <string.h>

// RFC 9113 forbids all other cipher suites of TLS 1.2 for HTTP/2. TLS 1.3 has its own list.
static const char *const cipher_suites = "ECDHE+AESGCM:ECDHE+CHACHA20";

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;

// Without an exit handler, threads that still use OpenSSL when the program exits do no harm.
static void initialize(void) { OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL); }

// A terminal is never asked for the password of a key.
static int refuse_password(char *buffer, int capacity, int is_writing, void *unused) {
    (void)buffer, (void)capacity, (void)is_writing, (void)unused;
    return -1;
}

// Chooses h2 before http/1.1, whatever the client prefers. A client that offers neither is refused.
static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_count,
                           const unsigned char *offered, unsigned int offered_count, void *unused) {
    static const char *const known[] = {"h2", "http/1.1"};
    (void)ssl, (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t count = strlen(known[i]);
        for (size_t at = 0; at < offered_count && offered[at] < offered_count - at; at += 1u + offered[at]) {
            if (offered[at] != count || memcmp(offered + at + 1, known[i], count) != 0) continue;
            *chosen = offered + at + 1;
            *chosen_count = (unsigned char)count;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *new_context(const SSL_METHOD *method) {
    ERR_clear_error();
    if (!CRYPTO_THREAD_run_once(&once, initialize)) return NULL;
    SSL_CTX *ctx = SSL_CTX_new(method);
    if (ctx == NULL) return NULL;
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(ctx, refuse_password);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) && SSL_CTX_set_cipher_list(ctx, cipher_suites)) return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

dugout_tls_context *dugout_tls_server_context(void) {
    SSL_CTX *ctx = new_context(TLS_server_method());
    if (ctx != NULL) SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    return (dugout_tls_context *)ctx;
}

// Calls `use` with each certificate of PEM text, and gives it the ownership if it returns true.
static bool each_certificate(SSL_CTX *ctx, const uint8_t *text, size_t count,
                             bool (*use)(SSL_CTX *ctx, X509 *certificate, int position)) {
    ERR_clear_error();
    BIO *bio = BIO_new_mem_buf(text, (int)count);
    if (bio == NULL) return false;
    int position = 0;
    X509 *certificate;
    while ((certificate = PEM_read_bio_X509(bio, NULL, refuse_password, NULL)) != NULL) {
        if (use(ctx, certificate, position)) { position++; continue; }
        X509_free(certificate);
        BIO_free(bio);
        return false;
    }
    BIO_free(bio);
    unsigned long error = ERR_peek_last_error();
    bool is_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    if (position == 0 || !is_end) return false;
    ERR_clear_error();
    return true;
}

static bool trust(SSL_CTX *ctx, X509 *certificate, int position) {
    (void)position;
    if (!X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), certificate)) return false;
    X509_free(certificate);
    return true;
}

dugout_tls_context *dugout_tls_client_context(const uint8_t *trusted, size_t count, bool is_old) {
    SSL_CTX *ctx = new_context(TLS_client_method());
    if (ctx == NULL) return NULL;
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    bool is_set = !is_old || SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    if (is_set && each_certificate(ctx, trusted, count, trust)) return (dugout_tls_context *)ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

static bool add_to_chain(SSL_CTX *ctx, X509 *certificate, int position) {
    if (position > 0) return SSL_CTX_add0_chain_cert(ctx, certificate) == 1;
    if (SSL_CTX_use_certificate(ctx, certificate) != 1) return false;
    X509_free(certificate);
    return true;
}

bool dugout_tls_use_chain(dugout_tls_context *context, const uint8_t *text, size_t count) {
    return each_certificate((SSL_CTX *)context, text, count, add_to_chain);
}

bool dugout_tls_use_key(dugout_tls_context *context, const uint8_t *text, size_t count) {
    SSL_CTX *ctx = (SSL_CTX *)context;
    ERR_clear_error();
    BIO *bio = BIO_new_mem_buf(text, (int)count);
    if (bio == NULL) return false;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, refuse_password, NULL);
    BIO_free(bio);
    if (key == NULL) return false;
    // A key of another kind than the certificate would otherwise be stored beside it.
    bool is_used = X509_check_private_key(SSL_CTX_get0_certificate(ctx), key) == 1
        && SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;
    EVP_PKEY_free(key);
    return is_used;
}

int dugout_tls_expiry(const dugout_tls_context *context) {
    const X509 *certificate = SSL_CTX_get0_certificate((const SSL_CTX *)context);
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) return -1;
    return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 ? 1 : 0;
}

void dugout_tls_context_free(dugout_tls_context *context) { SSL_CTX_free((SSL_CTX *)context); }

#endif
