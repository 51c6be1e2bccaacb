// Times in metadata: RFC 3339 with milliseconds, in UTC.

import Foundation

enum StorageTime {
  private static func formatter(_ fraction: Bool) -> ISO8601DateFormatter {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions =
      fraction ? [.withInternetDateTime, .withFractionalSeconds] : .withInternetDateTime
    return formatter
  }

  static func text(_ date: Date) -> String { formatter(true).string(from: date) }

  static func date(_ text: String) -> Date? {
    formatter(true).date(from: text) ?? formatter(false).date(from: text)
  }
}
