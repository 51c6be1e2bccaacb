// The mean time of calls that were all made once before.

enum TimedPass {
  /// Calls `body` with each index twice, and measures the second pass. Returns the nanoseconds of a call,
  /// and the sum of the results.
  static func run(_ count: Int, _ body: (Int) throws -> Int) throws -> (nanoseconds: Double, sum: Int) {
    for index in 0..<count { _ = try body(index) }
    var sum = 0
    let time = try ContinuousClock().measure { for index in 0..<count { sum &+= try body(index) } }
    return (time / .nanoseconds(1) / Double(count), sum)
  }
}
