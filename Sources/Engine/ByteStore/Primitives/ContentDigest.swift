// The SHA-256 digest that identifies some content.

internal import CDigest

package enum ContentDigest {
  package static let byteCount = 32

  package static func sha256(of bytes: RawSpan) -> [UInt8] {
    var context = dugout_sha256()
    unsafe dugout_sha256_init(&context)
    unsafe bytes.withUnsafeBytes { unsafe dugout_sha256_update(&context, $0.baseAddress, $0.count) }
    var digest = [UInt8](repeating: 0, count: byteCount)
    unsafe digest.withUnsafeMutableBufferPointer { target in
      guard let start = target.baseAddress else { return }
      unsafe dugout_sha256_final(&context, start)
    }
    return digest
  }
}
