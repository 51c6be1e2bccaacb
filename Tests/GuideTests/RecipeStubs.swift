// Stand-ins for the packages of the recipes in docs/guides/observability.md.
//
// Each enum has the name of a module. Its types have the names, labels and literals of the original that the
// recipes use: swift-log 1, swift-metrics 2, swift-distributed-tracing 1, and OSLog. Instead of a backend, a
// stand-in keeps one line for each call.

import Synchronization

/// The lines that a stand-in has received.
final class RecipeOutput: Sendable {
  private let received = Mutex<[String]>([])

  var lines: [String] { received.withLock { $0 } }

  func add(_ line: String) { received.withLock { $0.append(line) } }
}

/// Stand-in for swift-log.
enum Logging {
  static let output = RecipeOutput()

  struct Logger: Sendable {
    enum Level: String, Sendable {
      case trace, debug, info, notice, warning, error, critical
    }

    struct Message: ExpressibleByStringInterpolation, Sendable {
      let text: String

      init(stringLiteral value: String) { text = value }
    }

    enum MetadataValue: ExpressibleByStringInterpolation, Sendable {
      case string(String)

      init(stringLiteral value: String) { self = .string(value) }
    }

    typealias Metadata = [String: MetadataValue]

    let label: String

    init(label: String) { self.label = label }

    func log(
      level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil
    ) {
      let fields = (metadata() ?? [:]).map { key, value in
        switch value {
        case .string(let text): "\(key)=\(text)"
        }
      }
      Logging.output.add(
        "\(label) \(level.rawValue) \(message().text) \(fields.sorted().joined(separator: " "))")
    }
  }
}

/// Stand-in for swift-metrics.
enum Metrics {
  static let output = RecipeOutput()

  private static func text(_ label: String, _ dimensions: [(String, String)]) -> String {
    label + dimensions.map { " \($0.0)" }.joined()
  }

  final class Counter {
    private let name: String

    init(label: String, dimensions: [(String, String)] = []) { name = Metrics.text(label, dimensions) }

    func increment<DataType: BinaryInteger>(by amount: DataType) {
      Metrics.output.add("counter \(name) \(amount)")
    }
  }

  final class Timer {
    private let name: String

    init(label: String, dimensions: [(String, String)] = []) { name = Metrics.text(label, dimensions) }

    func recordNanoseconds(_ duration: Int64) {
      Metrics.output.add("timer \(name) \(duration > 0 ? "positive" : "zero")")
    }
  }

  final class Gauge {
    private let name: String

    init(label: String, dimensions: [(String, String)] = []) { name = Metrics.text(label, dimensions) }

    func record<DataType: BinaryFloatingPoint>(_ value: DataType) {
      Metrics.output.add("gauge \(name) \(Double(value) > 0 ? "positive" : "zero")")
    }
  }
}

/// Stand-in for swift-distributed-tracing.
enum Tracing {
  static let output = RecipeOutput()

  protocol TracerInstant: Comparable, Hashable, Sendable {
    var nanosecondsSinceEpoch: UInt64 { get }
  }

  struct DefaultTracerClock {
    struct Timestamp: TracerInstant {
      let nanosecondsSinceEpoch: UInt64

      init(nanosecondsSinceEpoch: UInt64) { self.nanosecondsSinceEpoch = nanosecondsSinceEpoch }

      static func < (left: Self, right: Self) -> Bool {
        left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
      }
    }

    /// A fixed time, so that the start of a span shows its duration.
    static var now: Timestamp { Timestamp(nanosecondsSinceEpoch: 1_000_000_000_000_000_000) }
  }

  enum SpanKind: Hashable, Sendable {
    case `internal`
  }

  enum SpanAttribute: Equatable, Sendable {
    case string(String)
  }

  struct SpanAttributes: Equatable, Sendable {
    private var values: [String: SpanAttribute] = [:]

    subscript(name: String) -> SpanAttribute? {
      get { values[name] }
      set { values[name] = newValue }
    }

    var names: [String] { values.keys.sorted() }
  }

  protocol Span: Sendable {
    var attributes: SpanAttributes { get nonmutating set }

    func end()
  }

  private final class RecordedSpan: Span {
    private let name: String
    private let kept = Mutex(SpanAttributes())

    init(_ name: String) { self.name = name }

    var attributes: SpanAttributes {
      get { kept.withLock { $0 } }
      set { kept.withLock { $0 = newValue } }
    }

    func end() { Tracing.output.add("span \(name) \(attributes.names.joined(separator: " "))") }
  }

  static func startSpan(
    _ operationName: String, ofKind kind: SpanKind = .internal,
    at instant: @autoclosure () -> some TracerInstant = DefaultTracerClock.now
  ) -> any Span {
    let isPast = instant().nanosecondsSinceEpoch < DefaultTracerClock.now.nanosecondsSinceEpoch
    return RecordedSpan("\(operationName) \(kind) \(isPast ? "past" : "now")")
  }
}

/// Stand-in for Apple's OSLog.
enum OSLog {
  static let output = RecipeOutput()

  struct OSLogType: Equatable, Sendable {
    let name: String

    static let debug = OSLogType(name: "debug")
    static let info = OSLogType(name: "info")
    static let `default` = OSLogType(name: "default")
    static let error = OSLogType(name: "error")
  }

  struct OSLogPrivacy: Sendable {
    let isPublic: Bool

    static var auto: OSLogPrivacy { OSLogPrivacy(isPublic: false) }
    static var `public`: OSLogPrivacy { OSLogPrivacy(isPublic: true) }
  }

  struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
    struct StringInterpolation: StringInterpolationProtocol, Sendable {
      fileprivate var text = ""

      init(literalCapacity: Int, interpolationCount: Int) {}

      mutating func appendLiteral(_ literal: String) { text += literal }

      mutating func appendInterpolation(
        _ value: @autoclosure () -> String, privacy: OSLogPrivacy = .auto
      ) {
        text += privacy.isPublic ? value() : "<private>"
      }
    }

    fileprivate let text: String

    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    init(stringLiteral value: String) { text = value }
  }

  struct Logger: Sendable {
    let subsystem: String
    let category: String

    init(subsystem: String, category: String) {
      self.subsystem = subsystem
      self.category = category
    }

    func log(level: OSLogType, _ message: OSLogMessage) {
      OSLog.output.add("\(subsystem) \(category) \(level.name) \(message.text)")
    }
  }
}
