// Contexts of OpenSSL.

#if TLS

internal import CTLS

/// Owns a context. Sessions keep their context alive by themselves.
@safe
final class OpenSSLContext: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: several threads may create sessions of one context. The context is
  // only changed before it is shared.
  let pointer: OpaquePointer

  init?(_ pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  deinit { unsafe dugout_tls_context_free(pointer) }

  /// OpenSSL's reasons for the last failure in this thread.
  static func errorText() -> String { unsafe errorText(of: nil) }

  /// OpenSSL's reasons for the last failure in this thread, which was a session's.
  static func errorText(of session: OpaquePointer?) -> String {
    let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { text in
      guard let start = text.baseAddress else { return "" }
      unsafe dugout_tls_error_text(session, start, text.count)
      return unsafe String(cString: start)
    }
    return text.isEmpty ? "OpenSSL gives no reason" : text
  }
}

#endif
