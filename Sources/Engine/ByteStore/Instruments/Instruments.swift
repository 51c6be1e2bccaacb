// The interface through which a database reports events and measurements to the program.
//
// A database without instruments builds no event and reads no clock for a measurement. The only exception is
// the time of each commit, which the commit histogram always needs.

/// Receives the events and measurements of databases, for example to pass them to a logger or to a metrics
/// system.
///
/// Each method has a default that does nothing, so a type implements only the methods that it needs:
///
/// ```swift
/// import ByteStore
///
/// struct Warnings: Instruments {
///   func event(_ event: InstrumentEvent) {
///     if event.level == .warning || event.level == .error { print(event) }
///   }
/// }
/// ```
///
/// The calls come from any thread, and several can run at the same time. The events of one thread arrive in
/// order. During a call, the database holds no lock that reads and writes need, but the thread of the call
/// continues only afterwards. A call must therefore return quickly, and it must not use the database.
public protocol Instruments: Sendable {
  /// The duration from which a commit is reported as `InstrumentName.commitSlow`. It is read when a database
  /// is opened.
  var slowCommit: Duration { get }
  /// The duration from which a query is reported as `InstrumentName.querySlow`. It is read when a database is
  /// opened.
  var slowQuery: Duration { get }

  /// Receives an event.
  func event(_ event: InstrumentEvent)
  /// Receives an increment of a counter.
  func count(_ name: InstrumentName, by amount: Int, in database: String)
  /// Receives one measured duration.
  func time(_ name: InstrumentName, took duration: Duration, in database: String)
  /// Receives the current value of a gauge.
  func gauge(_ name: InstrumentName, is value: Double, in database: String)
}

extension Instruments {
  /// Half a second.
  public var slowCommit: Duration { .milliseconds(500) }
  /// Half a second.
  public var slowQuery: Duration { .milliseconds(500) }

  /// Ignores the event.
  public func event(_ event: InstrumentEvent) {}
  /// Ignores the increment.
  public func count(_ name: InstrumentName, by amount: Int, in database: String) {}
  /// Ignores the duration.
  public func time(_ name: InstrumentName, took duration: Duration, in database: String) {}
  /// Ignores the value.
  public func gauge(_ name: InstrumentName, is value: Double, in database: String) {}
}

/// Something that happened in a database.
public struct InstrumentEvent: Hashable, Sendable {
  /// The importance of an event.
  public enum Level: String, Hashable, Sendable, CaseIterable {
    /// Frequent events of normal operation.
    case debug
    /// Events of normal operation.
    case info
    /// Something that needs attention if it happens often.
    case warning
    /// A failure.
    case error
  }

  /// The value of a field.
  public enum Value: Hashable, Sendable {
    /// A text, such as a path or the description of an error.
    case text(String)
    /// A number of things or of bytes.
    case integer(Int)
    /// A duration in seconds.
    case seconds(Double)
    /// A condition that holds or does not hold.
    case flag(Bool)
  }

  /// A detail of an event.
  public struct Field: Hashable, Sendable {
    /// The name of the field, which is unique within an event.
    public let name: String
    /// The value of the field.
    public let value: Value

    /// Creates a field.
    public init(_ name: String, _ value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// The kind of the event.
  public let name: InstrumentName
  /// The importance of the event.
  public let level: Level
  /// The directory of the database.
  public let database: String
  /// The details, always in the same order.
  public let fields: [Field]

  /// Creates an event.
  public init(_ name: InstrumentName, _ level: Level, database: String, fields: [Field] = []) {
    self.name = name
    self.level = level
    self.database = database
    self.fields = fields
  }

  /// The value of the field with this name; nil if the event has no such field.
  public subscript(field: String) -> Value? { fields.first { $0.name == field }?.value }
}

extension InstrumentEvent: CustomStringConvertible {
  /// The event on one line, such as `flush.finished database=/srv/shop bytes=8192 seconds=0.012345`.
  public var description: String {
    let all = [Field("database", .text(database))] + fields
    return ([name.rawValue] + all.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
  }
}

extension InstrumentEvent.Value: CustomStringConvertible {
  /// The value without spaces and line breaks outside of quotes.
  public var description: String {
    switch self {
    case .text(let text):
      text.isEmpty || text.contains(where: Self.needsQuotes) ? text.debugDescription : text
    case .integer(let number): "\(number)"
    case .seconds(let seconds): Self.text(ofSeconds: seconds)
    case .flag(let holds): "\(holds)"
    }
  }

  private static func needsQuotes(_ character: Character) -> Bool {
    character.isWhitespace || character == "\"" || character == "=" || character == "\\"
      || character.unicodeScalars.contains { $0.value < 32 || $0.value == 127 }
  }

  /// Returns the seconds with six decimals.
  private static func text(ofSeconds seconds: Double) -> String {
    let microseconds = UInt64(exactly: (max(seconds, 0) * 1e6).rounded()) ?? .max
    let digits = String(microseconds % 1_000_000)
    let zeros = String(repeating: "0", count: 6 - digits.count)
    return "\(microseconds / 1_000_000).\(zeros)\(digits)"
  }
}
