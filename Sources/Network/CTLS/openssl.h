// OpenSSL, which only this folder sees.

#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#if OPENSSL_VERSION_MAJOR < 3
#error "The trait TLS needs OpenSSL 3."
#endif
