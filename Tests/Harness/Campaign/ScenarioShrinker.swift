// Shrinks a failing scenario: fewer steps, fewer operations, and an adjusted crash.

/// Removes everything that is not needed to reproduce the failure. Removing a step changes the numbers of all
/// later calls. Each attempt therefore tries every call of a life as the place of its crash or fault.
struct ScenarioShrinker {
  private static let runsMax = 20_000
  private static let runsPerAttemptMax = 2_000

  private let kind: Finding.Kind
  private let setting: Setting
  private var best: Scenario
  private var runs = 0

  init(_ scenario: Scenario, _ finding: Finding, _ setting: Setting) {
    best = scenario
    kind = finding.kind
    self.setting = setting
  }

  mutating func shrunk() -> Scenario {
    // Some findings need more than running the lives of a scenario. Such a finding does not reproduce here,
    // so its scenario is returned unchanged.
    var isSmaller = run(best).finding?.kind == kind
    while isSmaller, runs < Self.runsMax {
      isSmaller = false
      for candidate in candidates() {
        guard let failing = failing(candidate) else { continue }
        best = failing
        isSmaller = true
        break
      }
    }
    return best
  }

  private func candidates() -> [Scenario] {
    best.legs.indices.flatMap { leg in
      best.legs[leg].steps.indices.flatMap { step in smaller(leg, step) }
    }
  }

  private func smaller(_ leg: Int, _ step: Int) -> [Scenario] {
    var without = best
    without.legs[leg].steps.remove(at: step)
    let steps: [Workload.Step] =
      switch best.legs[leg].steps[step] {
      case .reopen, .maintain, .snapshot, .occupySpace, .freeSpace: []
      case .flush(let scope, let edits): edits.isEmpty ? [] : [.flush(scope, during: edits.dropLast())]
      case .backup(let path, let edits): edits.isEmpty ? [] : [.backup(to: path, during: edits.dropLast())]
      case .commit(let edit): smaller(edit).map { .commit($0) }
      case .group(let edits): [.commit(edits[0])] + (edits.count > 2 ? [.group(edits.dropLast())] : [])
      }
    return [without]
      + steps.map { replacement in
        var scenario = best
        scenario.legs[leg].steps[step] = replacement
        return scenario
      }
  }

  private func smaller(_ edit: Edit) -> [Edit] {
    guard edit.operations.count > 1 else { return [] }
    return edit.operations.indices.map { index in
      var operations = edit.operations
      operations.remove(at: index)
      return Edit(operations, stamp: edit.stamp, edit.durability)
    }
  }

  /// Searches for a call at which the crash or the fault of one life causes the same kind of failure.
  private mutating func failing(_ scenario: Scenario) -> Scenario? {
    let first = run(scenario)
    if first.finding?.kind == kind { return scenario }
    var attempts = 0
    for leg in scenario.legs.indices {
      var moved = scenario
      let calls = first.operations.indices.contains(leg) ? first.operations[leg] : 200
      for call in (0...calls).reversed() {
        guard attempts < Self.runsPerAttemptMax, runs < Self.runsMax else { return nil }
        attempts += 1
        if moved.legs[leg].fault != nil {
          moved.legs[leg].fault?.operation = call
        } else {
          moved.legs[leg].crashAt = call
        }
        if run(moved).finding?.kind == kind { return moved }
      }
    }
    return nil
  }

  private mutating func run(_ scenario: Scenario) -> Scenario.Outcome {
    runs += 1
    return scenario.run(setting)
  }
}
