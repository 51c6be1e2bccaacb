// The lines of a log.
//
//   JSON
// {"time":"2030-01-01T00:00:00.000000Z","level":"info","event":"request","method":"Commit","bytes":12}
//   text   2030-01-01T00:00:00.000000Z info request method=Commit bytes=12
//
// Texts are escaped in both forms. In the text form, a value with a space or a quotation mark is in quotation
// marks.

internal import FirestoreWire

/// The importance of a line.
package enum LogLevel: String, Sendable {
  case info, warning, error
}

/// The value of a field.
enum LogValue: Sendable {
  /// A text, which is cut if it is long.
  case text(String)
  /// A text of the program itself.
  case sentence(String)
  case integer(UInt64)
  /// A duration in nanoseconds, which is written in seconds.
  case duration(UInt64)
}

extension ServerLog {
  typealias Fields = [(name: String, value: LogValue)]

  /// The text of a line. `time` is in microseconds since 1970.
  static func text(
    _ level: LogLevel, _ event: String, fields: Fields, at time: Int64, in format: Format
  ) -> String {
    let time = text(time)
    return switch format {
    case .json: json(level, event, fields: fields, time: time)
    case .text: plain(level, event, fields: fields, time: time)
    }
  }

  private static func json(_ level: LogLevel, _ event: String, fields: Fields, time: String) -> String {
    var line = #"{"time":"\#(time)","level":"\#(level.rawValue)","event":"\#(event)""#
    for (name, value) in fields {
      line += ",\"\(name)\":"
      switch value {
      case .text(let text): line += quoted(LogText.escaped(text))
      case .sentence(let text): line += quoted(LogText.escaped(text, bytesMax: .max))
      case .integer(let number): line += "\(number)"
      case .duration(let nanoseconds): line += seconds(nanoseconds)
      }
    }
    return line + "}"
  }

  private static func plain(_ level: LogLevel, _ event: String, fields: Fields, time: String) -> String {
    var line = "\(time) \(level.rawValue) \(event)"
    for (name, value) in fields {
      line += " \(name)="
      switch value {
      case .text(let text): line += quotedIfNeeded(LogText.escaped(text))
      case .sentence(let text): line += quotedIfNeeded(LogText.escaped(text, bytesMax: .max))
      case .integer(let number): line += "\(number)"
      case .duration(let nanoseconds): line += seconds(nanoseconds)
      }
    }
    return line
  }

  private static func quotedIfNeeded(_ text: String) -> String {
    let isPlain = !text.isEmpty && !text.utf8.contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\"") }
    return isPlain ? text : quoted(text)
  }

  /// A text without control characters in quotation marks, which is also a string of JSON.
  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  /// Seconds to the microsecond, such as `0.000007`.
  private static func seconds(_ nanoseconds: UInt64) -> String {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return "\(seconds).\(sixDigits(rest / 1000))"
  }

  /// A time to the microsecond. All times have the same length, so lines can be sorted.
  private static func text(_ microseconds: Int64) -> String {
    let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    guard rest >= 0, let text = TimeText.format(seconds: seconds, nanos: 0) else { return "\(microseconds)" }
    return text.dropLast() + ".\(sixDigits(UInt64(rest)))Z"
  }

  private static func sixDigits(_ number: UInt64) -> String { String(String(number + 1_000_000).dropFirst()) }
}
