// Digests of bytes that come piece by piece.

internal import CDigest

/// SHA-256 in progress. A copy goes on independently.
package struct SHA256Stream: Sendable {
  private var context = dugout_sha256()

  /// A portable one leaves out what only some processors have: for comparison.
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

  /// Of everything so far; more may follow.
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

/// MD5 in progress, for protocols that ask for it: it protects against accidents, and not against people.
package struct MD5Stream: Sendable {
  package static let byteCount = 16

  private var context = dugout_md5()

  package init() { unsafe dugout_md5_init(&context) }

  package mutating func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe dugout_md5_update(&context, $0.baseAddress, $0.count) }
  }

  /// Of everything so far; more may follow.
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
