// Checksums that follow the bytes that they cover: in headers, in pages and at the end of files.

/// A checksum that was read, and the checksum that was computed over the bytes before it.
package struct TrailingChecksum {
  package let recorded: UInt32?
  package let computed: UInt32

  package var isCorrect: Bool { recorded == computed }
}

extension [UInt8] {
  /// Appends the checksum of all bytes so far. The computation continues from `start`.
  package mutating func appendChecksum(_ start: Checksum = Checksum()) {
    var checksum = start
    checksum.update(rawSpan)
    append(littleEndian: checksum.value)
  }

  /// Appends the checksum of a page whose first byte is at `offset` of the file `id`.
  package mutating func appendPageChecksum(file id: RandomID, offset: UInt64, broken: Rule?) {
    guard broken != .checkPages else { return append(zeros: 4) }
    appendChecksum(Checksum(file: id, offset: offset, broken: broken))
  }
}

extension ByteReader {
  /// Reads a checksum, and computes the checksum of all bytes before it. The computation continues from
  /// `start`.
  mutating func trailingChecksum(_ start: Checksum = Checksum()) -> TrailingChecksum {
    var checksum = start
    checksum.update(bytes.extracting(first: offset))
    return TrailingChecksum(recorded: uint32(), computed: checksum.value)
  }
}

extension RawSpan {
  /// The recorded checksum in the last four bytes, and the computed checksum of the bytes before it. The
  /// computation continues from `start`.
  func trailingChecksum(_ start: Checksum = Checksum()) -> TrailingChecksum {
    var reader = ByteReader(self)
    _ = reader.skip(byteCount - 4)
    return reader.trailingChecksum(start)
  }

  /// The checksum in the last four bytes of a page at `offset` of the file `id`; nil if a test has turned
  /// this check off.
  package func pageChecksum(file id: RandomID, offset: UInt64, broken: Rule?) -> TrailingChecksum? {
    guard broken != .checkPages else { return nil }
    return trailingChecksum(Checksum(file: id, offset: offset, broken: broken))
  }

  /// Whether the checksum in the last four bytes of a page is correct. Always true if a test has turned this
  /// check off.
  package func hasPageChecksum(file id: RandomID, offset: UInt64, broken: Rule?) -> Bool {
    pageChecksum(file: id, offset: offset, broken: broken)?.isCorrect ?? true
  }

  /// Throws if the checksum in the last four bytes of a page of the file at `path` is wrong.
  package func checkPage(
    file id: RandomID, offset: UInt64, path: String, broken: Rule?
  ) throws(ByteStoreError) {
    guard let checksum = pageChecksum(file: id, offset: offset, broken: broken), !checksum.isCorrect else {
      return
    }
    throw .damage(
      path, at: offset, expected: "a page with checksum \(checksum.recorded ?? 0)",
      found: "\(checksum.computed)")
  }
}
