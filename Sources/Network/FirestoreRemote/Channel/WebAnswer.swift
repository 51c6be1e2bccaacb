// A short answer of HTTP as a whole.

internal import HTTPClient
internal import OfflineSync

/// Collects an answer. Bytes beyond the limit are dropped, and the answer is then too long.
struct WebAnswer {
  var status = 0
  private(set) var fields: [String: String] = [:]
  private(set) var body: [UInt8] = []
  private(set) var isTooLong = false

  mutating func take(_ event: WebEvent) {
    switch event {
    case .head(let status, let fields): (self.status, self.fields) = (status, fields)
    case .bytes(let bytes):
      let rest = ChannelSettings.answerBytesMax - body.count
      if bytes.count > rest { isTooLong = true }
      body += bytes.prefix(rest)
    case .ended: break
    }
  }

  /// Whether the same request may have another answer later.
  static func isTemporary(_ status: Int) -> Bool {
    status == 200 || status == 408 || status == 429 || status >= 500
  }

  /// The error of a request of an open session. Its code never says that a message was refused, because the
  /// messages have answers of their own.
  var sessionError: RemoteError {
    guard status != 200 else { return ChannelFault.malformed.error }
    let error = RemoteError(status: status, body: body)
    switch error.code {
    case .unauthenticated, .resourceExhausted: return error
    default: return RemoteError(.unavailable, error.message)
    }
  }
}
