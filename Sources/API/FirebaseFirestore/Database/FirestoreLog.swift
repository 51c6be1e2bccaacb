// The log of `Firestore.enableLogging(_:)`: one line for each event.

import ByteStore
private import Foundation

#if canImport(OSLog)
private import OSLog
#endif

/// Writes events as lines of text:
///
///     2026-08-01T12:00:00.000Z info flush.finished database=/srv/shop bytes=8192 commit=2 seconds=0.012345
struct FirestoreLog: Instruments {
  /// Writes one line, without a line break at its end.
  private let write: @Sendable (String, InstrumentEvent.Level) -> Void

  init(_ write: @escaping @Sendable (String, InstrumentEvent.Level) -> Void) { self.write = write }

  func event(_ event: InstrumentEvent) { write("\(event.level.rawValue) \(event)", event.level) }

  #if canImport(OSLog)
  /// Writes to the unified log, which adds the time.
  static let standard = FirestoreLog { line, level in
    Logger(subsystem: "dugout", category: "Firestore").log(level: level.type, "\(line, privacy: .public)")
  }
  #else
  /// Writes to the standard error output, with the time.
  static let standard = FirestoreLog { line, _ in
    let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    // A program whose standard error output is closed continues without a log.
    try? FileHandle.standardError.write(contentsOf: Data("\(time) \(line)\n".utf8))
  }
  #endif
}

#if canImport(OSLog)
extension InstrumentEvent.Level {
  fileprivate var type: OSLogType {
    switch self {
    case .debug: .debug
    case .info: .info
    case .warning: .default
    case .error: .error
    }
  }
}
#endif
