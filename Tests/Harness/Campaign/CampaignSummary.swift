// What a campaign did and found.

package import ByteStore

/// A campaign is good if it found nothing and reached everything.
package struct CampaignSummary: Sendable {
  package struct Failure: Sendable, CustomStringConvertible {
    package var finding: Finding
    /// Of the campaign and of the workload within it.
    package var seed: UInt64
    package var workload: Int
    /// The states that had been run when it showed.
    package var state: Int
    /// Shrunk as far as it still fails.
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
  /// How often a crash came before such a call.
  package var crashes: [DiskOperation: Int] = [:]
  package var faults: [SimulatedDisk.FaultPoint: Int] = [:]
  /// Jobs in the background, run where dice would have it.
  package var jobs: [Maintenance.Job: Int] = [:]
  /// Steps of such a job between two steps of another one.
  package var overlaps = 0

  package var lostCommits: Int { findings[.lostCommit, default: 0] }
  package var ghosts: Int { findings[.ghost, default: 0] }
  package var tornBatches: Int { findings[.tornBatch, default: 0] }
  package var falseAlarms: Int { findings[.falseAlarm, default: 0] }

  /// What no crash or fault of this campaign hit; a long campaign must leave nothing here.
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
