// The results of a campaign.

package import ByteStore

/// A campaign passes if it found nothing and reached everything.
package struct CampaignSummary: Sendable {
  package struct Failure: Sendable, CustomStringConvertible {
    package var finding: Finding
    /// The seeds of the campaign and of the workload.
    package var seed: UInt64
    package var workload: Int
    /// The number of states run before the failure.
    package var state: Int
    /// The scenario, shrunk as far as it still fails.
    package var scenario: Scenario
    package var trace: String

    package var description: String {
      "\(finding)\nseed \(seed), workload \(workload), state \(state)\n\(scenario)\n\(trace)"
    }
  }

  package var states = 0
  package var workloads = 0
  package var findings: [Finding.Kind: Int] = [:]
  /// The first failure of each kind.
  package var failures: [Finding.Kind: Failure] = [:]
  /// The number of crashes before each kind of call.
  package var crashes: [DiskOperation: Int] = [:]
  package var faults: [SimulatedDisk.FaultPoint: Int] = [:]
  /// The background jobs that the scheduler ran.
  package var jobs: [Maintenance.Job: Int] = [:]
  /// The number of job steps between two steps of another job.
  package var overlaps = 0

  package var lostCommits: Int { findings[.lostCommit, default: 0] }
  package var ghosts: Int { findings[.ghost, default: 0] }
  package var tornBatches: Int { findings[.tornBatch, default: 0] }
  package var falseAlarms: Int { findings[.falseAlarm, default: 0] }

  /// Calls and faults that this campaign never hit; must be empty after a long campaign.
  package var neverReached: [String] {
    let operations = DiskOperation.allCases.filter { crashes[$0, default: 0] == 0 }
    let points = DiskOperation.allCases.flatMap { operation in
      DiskFault.allCases.filter { $0.strikes(operation) }.map {
        SimulatedDisk.FaultPoint(operation: operation, fault: $0)
      }
    }
    return operations.map { "a crash before \($0.rawValue)" }
      + points.filter { faults[$0, default: 0] == 0 }
      .map { "\($0.fault.rawValue) at \($0.operation.rawValue)" }
      + Maintenance.Job.allCases.filter { jobs[$0, default: 0] == 0 }.map {
        "a \($0.rawValue) in the background"
      }
      + (overlaps == 0 ? ["two jobs at once"] : [])
  }

  package var firstFailure: Failure? { failures.values.min { $0.state < $1.state } }

  package var isClean: Bool { findings.isEmpty && neverReached.isEmpty }
}

extension CampaignSummary: CustomStringConvertible {
  package var description: String {
    var lines = ["\(states) crash and fault states of \(workloads) workloads"]
    for kind in Finding.Kind.allCases { lines.append("\(findings[kind, default: 0]) \(kind.rawValue)") }
    let reached = DiskOperation.allCases.map { "\($0.rawValue) \(crashes[$0, default: 0])" }
    lines.append("crashes before " + reached.joined(separator: ", "))
    let struck = DiskFault.allCases.map { fault in
      let count = faults.reduce(0) { $1.key.fault == fault ? $0 + $1.value : $0 }
      return "\(fault.rawValue) \(count)"
    }
    lines.append("faults " + struck.joined(separator: ", "))
    let between = Maintenance.Job.allCases.map { "\($0.rawValue) \(jobs[$0, default: 0])" }
    lines.append("in the background " + between.joined(separator: ", ") + ", overlaps \(overlaps)")
    if !neverReached.isEmpty { lines.append("never reached: " + neverReached.joined(separator: ", ")) }
    for kind in Finding.Kind.allCases { lines += failures[kind].map { ["\($0)"] } ?? [] }
    return lines.joined(separator: "\n")
  }
}
