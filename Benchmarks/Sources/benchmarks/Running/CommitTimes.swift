// Measures rates and latencies of calls.

import Foundation

/// The rate and the latencies of many calls, from one or several threads.
enum CommitTimes {
  static func measure(
    _ count: Int, threads: Int = 1, _ call: @escaping @Sendable (Int) throws -> Void
  ) throws -> [String: Double] {
    let share = count / threads
    let clock = ContinuousClock()
    let samples = Samples(threads)
    let total = clock.measure {
      // Uses dedicated threads, because a queue runs at most as many blocks at once as there are cores.
      let group = DispatchGroup()
      for thread in 0..<threads {
        group.enter()
        Thread.detachNewThread {
          samples.set(Result { try Self.times(thread * share..<(thread + 1) * share, call) }, for: thread)
          group.leave()
        }
      }
      group.wait()
    }
    let microseconds = try samples.all().sorted()
    return [
      "commits_per_s": Double(share * threads) / (total / .seconds(1)),
      "p50_us": microseconds[microseconds.count / 2],
      "p99_us": microseconds[microseconds.count * 99 / 100],
    ]
  }

  private static func times(_ calls: Range<Int>, _ call: (Int) throws -> Void) throws -> [Double] {
    let clock = ContinuousClock()
    return try calls.map { index in try clock.measure { try call(index) } / .microseconds(1) }
  }

  private final class Samples: @unchecked Sendable {
    // Guarded by the lock.
    private var results: [Result<[Double], any Error>?]
    private let lock = NSLock()

    init(_ threads: Int) { results = Array(repeating: nil, count: threads) }

    func set(_ result: Result<[Double], any Error>, for thread: Int) {
      lock.withLock { results[thread] = result }
    }

    func all() throws -> [Double] {
      try lock.withLock { try results.flatMap { try $0?.get() ?? [] } }
    }
  }
}
