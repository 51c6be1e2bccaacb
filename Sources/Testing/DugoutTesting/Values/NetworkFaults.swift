// The faults of a client's connection.

internal import Authority
internal import OfflineSync

/// The faults that the connection of a client has. The seed of the world decides when each of them happens.
///
/// ```swift
/// var slow = NetworkFaults.none
/// slow.latency = .milliseconds(200) ... .milliseconds(900)
/// slow.lossOneIn = 50
/// ```
public struct NetworkFaults: Sendable, Hashable {
  /// The time that each message takes. Messages of one connection arrive in order, so a slow message delays
  /// those behind it.
  public var latency: ClosedRange<Duration> = .zero ... .zero
  /// One in this many messages is lost, and the connection breaks; nil means none.
  public var lossOneIn: Int?
  /// One in this many messages arrives twice, if it is a write or a document; nil means none.
  public var duplicationOneIn: Int?
  /// One in this many writes is refused with an error after which the client tries again; nil means none.
  public var retryOneIn: Int?
  /// Whether documents of one snapshot arrive in another order.
  public var reorders = false

  /// Creates a connection without faults, whose messages take no time.
  public init() {}

  /// No faults, and no latency.
  public static let none = NetworkFaults()

  /// A bad mobile network: up to 80 ms for each message, and losses, duplicates, retries and reordering.
  public static let flaky: NetworkFaults = {
    var faults = NetworkFaults()
    faults.latency = .milliseconds(1) ... .milliseconds(80)
    faults.lossOneIn = 20
    faults.duplicationOneIn = 5
    faults.retryOneIn = 10
    faults.reorders = true
    return faults
  }()

  /// Returns random faults: any mixture, from almost none to worse than `flaky`.
  public static func random(using generator: inout some RandomNumberGenerator) -> NetworkFaults {
    var faults = NetworkFaults()
    faults.latency = .zero ... .milliseconds(Int.random(in: 1...80, using: &generator))
    if Bool.random(using: &generator) { faults.lossOneIn = .random(in: 8...70, using: &generator) }
    if Bool.random(using: &generator) { faults.duplicationOneIn = .random(in: 2...12, using: &generator) }
    if Bool.random(using: &generator) { faults.retryOneIn = .random(in: 3...12, using: &generator) }
    faults.reorders = .random(using: &generator)
    return faults
  }

  /// The faults in the form that the remote takes. Counts below one mean no fault.
  var loopback: LoopbackFaults {
    var faults = LoopbackFaults()
    faults.latency = max(0, latency.lowerBound.microseconds)...max(0, latency.upperBound.microseconds)
    faults.lossOneIn = lossOneIn.flatMap { $0 > 0 ? $0 : nil }
    faults.duplicationOneIn = duplicationOneIn.flatMap { $0 > 0 ? $0 : nil }
    faults.transientRejectionOneIn = retryOneIn.flatMap { $0 > 0 ? $0 : nil }
    faults.reorders = reorders
    return faults
  }
}

extension Duration {
  /// The duration in microseconds, at most 10,000 years.
  var microseconds: Int64 {
    let most: Int64 = 315_576_000_000
    let (seconds, attoseconds) = components
    return min(max(seconds, -most), most) * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}
