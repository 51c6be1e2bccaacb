// Errors of messages that exceed a limit.

import OfflineSync

extension WireError {
  static func tooManyBytes(_ count: Int, max: Int) -> WireError {
    WireError(.resourceExhausted, "The message has \(count) bytes, and at most \(max) are allowed.")
  }

  static let tooDeep = WireError("The message has too many messages inside each other.")
  static let tooManyElements = WireError("The message has too many elements.")
}
