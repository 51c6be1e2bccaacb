// SHA-256 and MD5 over bytes that arrive in pieces.

internal import CDigest

/// An incremental SHA-256. A copy continues independently of the original.
package struct SHA256Stream: Sendable {
  private var context = dugout_sha256()

  /// Starts a digest of no bytes. With `isPortable`, it does not use instructions that only some processors
  /// have, so that tests can compare both implementations.
  package init(isPortable: Bool = false) {
    if isPortable {
      unsafe dugout_sha256_init_portable(&context)
    } else {
      unsafe dugout_sha256_init(&context)
    }
  }

  package mutating func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe dugout_sha256_update(&context, $0.baseAddress, $0.count) }
  }

  /// The digest of all bytes so far. More bytes may follow.
  package var digest: [UInt8] {
    var context = context
    var digest = [UInt8](repeating: 0, count: ContentDigest.byteCount)
    unsafe digest.withUnsafeMutableBufferPointer { target in
      guard let start = target.baseAddress else { return }
      unsafe dugout_sha256_final(&context, start)
    }
    return digest
  }
}

/// An incremental MD5, for protocols that require it. MD5 detects accidental changes, not attacks.
package struct MD5Stream: Sendable {
  package static let byteCount = 16

  private var context = dugout_md5()

  package init() { unsafe dugout_md5_init(&context) }

  package mutating func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe dugout_md5_update(&context, $0.baseAddress, $0.count) }
  }

  /// The digest of all bytes so far. More bytes may follow.
  package var digest: [UInt8] {
    var context = context
    var digest = [UInt8](repeating: 0, count: Self.byteCount)
    unsafe digest.withUnsafeMutableBufferPointer { target in
      guard let start = target.baseAddress else { return }
      unsafe dugout_md5_final(&context, start)
    }
    return digest
  }
}
