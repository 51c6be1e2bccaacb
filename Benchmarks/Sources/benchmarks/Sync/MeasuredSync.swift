// The costs of an operation in the rounds of a run.

#if Server

/// The cost of an operation. Times are in microseconds.
struct SyncCost {
  var time: Double
  /// The time of processors in the process of the client, or in its thread.
  var clientTime: Double
  var serverTime: Double
  /// The bytes from the client to the server.
  var bytesSent: Int
  var bytesReceived: Int
}

/// Measures an operation once in a round, for all tables that show a part of its cost. Used on one thread.
final class MeasuredSync {
  private let measure: () throws -> SyncCost
  private var costs: [SyncCost] = []

  init(_ measure: @escaping () throws -> SyncCost) { self.measure = measure }

  /// Measures the next round.
  func next() throws -> SyncCost {
    let cost = try measure()
    costs.append(cost)
    return cost
  }

  /// The cost of the last round. Before the first round, the operation runs for this alone.
  func lastOrUncounted() throws -> SyncCost { try costs.last ?? measure() }

  /// Returns a part of the cost of all measured rounds, one after the other.
  func again(_ value: @escaping (SyncCost) -> Double) -> () throws -> Double {
    var round = 0
    return { [self] in
      defer { round += 1 }
      return value(costs[round])
    }
  }

  /// The bytes and the rate of the median round.
  func notes(of count: Int) -> [String] {
    // The first round is not counted.
    let counted = costs.dropFirst().sorted { $0.time < $1.time }
    guard !counted.isEmpty else { return [] }
    let cost = counted[counted.count / 2]
    let bytes = cost.bytesSent + cost.bytesReceived
    let rate = Int(Double(count) / cost.time * 1e6)
    return [
      "\(cost.bytesReceived) bytes to the client and \(cost.bytesSent) bytes to the server, "
        + "\(bytes / count) for each document, \(rate) documents a second"
    ]
  }
}
#endif
