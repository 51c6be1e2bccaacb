// The messages of google.firestore.v1.Document for protobuf-c, written by hand: the peer of the codec rows.
#pragma once
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/// Unpacks a document and frees it. Returns the number of its fields, or -1 if the bytes are not a document.
long document_unpack(const uint8_t *bytes, size_t count);

/// A document that was unpacked, for `document_pack`. Null if the bytes are not a document.
void *document_open(const uint8_t *bytes, size_t count);

/// Packs a document into a buffer of at least `document_size` bytes. Returns the number of bytes.
size_t document_pack(const void *document, uint8_t *bytes);

size_t document_size(const void *document);

void document_close(void *document);
