// A sequence of lives, each ended by a crash: the reproducible form of a finding.

internal import ByteStore

package struct Scenario: Sendable {
  struct Leg: Sendable {
    var steps: [Workload.Step]
    var fault: FaultPlan?
    /// The number of the call before which the life ends. A life with fewer calls ends after its last step.
    var crashAt: Int
    var crash: Crash
    var seed: UInt64
  }

  var logBytes: UInt64
  var flushBytes: UInt64 = 1 << 30
  var shortensTransfers: Bool
  var schedulesJobs = false
  /// The size of the disk; nil for an unlimited one.
  var capacity: Int?
  /// The size of each log's context; nil for none.
  var contextBytes: Int?
  var legs: [Leg]

  package var stepCount: Int { legs.reduce(0) { $0 + $1.steps.count } }

  /// Runs all lives, and then a final life that only opens the store after the last crash.
  func run(_ setting: Setting, recordsTrace: Bool = false) -> Outcome {
    var outcome = Outcome()
    var image = DiskImage()
    var oracle = Oracle()
    do throws(Finding) {
      for leg in legs {
        var life = life(leg, on: image, oracle, setting, recordsTrace)
        defer { outcome.traces.append(life.disk.traceText) }
        try life.run()
        outcome.operations.append(life.disk.counters.operations)
        let before = life.image(before: leg.crashAt)
        image = before.after(leg.crash)
        oracle = Oracle(after: life.oracle.expectation(at: leg.crashAt, after: leg.crash))
      }
      let last = Leg(steps: [], crashAt: 0, crash: .kill, seed: 0)
      var life = life(last, on: image, oracle, setting, recordsTrace)
      defer { outcome.traces.append(life.disk.traceText) }
      try life.run()
    } catch {
      outcome.finding = error
    }
    return outcome
  }

  struct Outcome {
    var finding: Finding?
    /// The number of calls of each life.
    var operations: [Int] = []
    var traces: [String] = []
  }

  private func life(
    _ leg: Leg, on image: DiskImage, _ oracle: Oracle, _ setting: Setting, _ recordsTrace: Bool
  ) -> Life {
    Life(on: image, oracle, plan(leg, setting, recordsTrace))
  }

  func plan(_ leg: Leg, _ setting: Setting, _ recordsTrace: Bool = false) -> LifePlan {
    var options = ByteStore.Options()
    options.logBytesMin = logBytes
    options.logBytesMax = logBytes
    options.flushBytes = flushBytes
    options.segmentBytesMax = 32 << 10
    options.cacheBytesMax = 64 << 10
    options.maintenance = .manual
    options.upperLayer = contextBytes.map { RepeatedContext(bytes: $0) }
    return LifePlan(
      options: options, steps: leg.steps, fault: leg.fault, shortensTransfers: shortensTransfers,
      schedulesJobs: schedulesJobs, capacity: capacity, recordsTrace: recordsTrace, seed: leg.seed,
      setting: setting)
  }
}

extension Scenario: CustomStringConvertible {
  package var description: String {
    let lives = legs.map { leg in
      let steps = ["open"] + leg.steps.map(\.description)
      let fault = leg.fault.map { "  with \($0)\n" } ?? ""
      return steps.map { "  \($0)\n" }.joined() + fault + "\(leg.crash) before call \(leg.crashAt)\n"
    }
    let transfers =
      (shortensTransfers ? ", some transfers short" : "") + (schedulesJobs ? ", jobs in the background" : "")
      + (capacity.map { ", a disk of \($0) bytes" } ?? "")
      + (contextBytes.map { ", contexts of \($0) bytes" } ?? "")
    return "logs of \(logBytes) bytes, flushed after \(flushBytes)\(transfers)\n" + lives.joined()
      + "  open\n"
  }
}
