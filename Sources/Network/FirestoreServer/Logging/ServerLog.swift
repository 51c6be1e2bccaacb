// Where a server writes its log.

internal import ByteStore

/// The log of a server: one line for each request and each event. Lines never contain tokens, query strings,
/// document names or documents.
public struct ServerLog: Sendable {
  /// The form of a line.
  public enum Format: Sendable, Hashable {
    /// An object of JSON.
    case json
    /// Words and `key=value` pairs, for people.
    case text
  }

  /// The form of the lines.
  public let format: Format
  /// Takes a line. Nil if there is no log.
  private let write: (@Sendable (String) -> Void)?
  /// Nil if lines are written at once.
  private let queue: LogQueue?

  /// Creates a log that passes its lines to `write`, each without its line break.
  ///
  /// A thread of the log calls `write` with one line after another, so `write` may block. Then up to 1 MiB of
  /// lines wait. Further lines are dropped, and the log later says how many. Copies of a log share its lines.
  public init(format: Format, write: @escaping @Sendable (String) -> Void) {
    let queue = LogQueue(write) { count in
      Self.text(
        .warning, "log_lines_dropped", fields: [("count", .integer(count))], at: Self.now, in: format)
    }
    self.format = format
    self.queue = queue
    self.write = { queue.add($0) }
  }

  private init(_ format: Format, _ write: (@Sendable (String) -> Void)?) {
    self.format = format
    self.write = write
    queue = nil
  }

  /// No log.
  public static let none = ServerLog(.text, nil)

  /// A log that calls `write` on the thread that has something to say.
  static func atOnce(_ format: Format, _ write: @escaping @Sendable (String) -> Void) -> ServerLog {
    ServerLog(format, write)
  }

  /// Whether there is a log.
  package var isOn: Bool { write != nil }

  /// The number of lines that were dropped because the log was written too slowly.
  var droppedCount: UInt64 { queue?.droppedCount ?? 0 }

  /// Writes a line without its line break. Does not block.
  package func write(_ line: String) { write?(line) }

  /// Writes a line, if there is a log. `time` is in microseconds since 1970.
  func line(_ level: LogLevel, _ event: String, fields: Fields, at time: Int64) {
    guard let write else { return }
    write(Self.text(level, event, fields: fields, at: time, in: format))
  }

  /// Writes a sentence of the program as the event `note`.
  package func note(_ level: LogLevel, _ sentence: String, at time: Int64? = nil) {
    line(level, "note", fields: [("text", .sentence(sentence))], at: time ?? Self.now)
  }

  /// Waits until the lines up to now are written, for a second at most.
  package func flush() async { await queue?.flush(within: 1) }

  private static var now: Int64 { SystemClock().wallMicroseconds() }
}
