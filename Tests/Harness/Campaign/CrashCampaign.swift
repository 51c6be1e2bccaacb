// Injects every crash and every fault into random workloads (docs/reliability.md, T3).
//
//   1. life 1    a workload on an empty disk, recorded call by call
//   2. crash     before each call, with each kind of survivors
//   3. life 2    recovery, and then a few more commits
//   4. crash     before each call of life 2, recovery included, with random survivors
//   5. life 3    recovery alone
//   6. faults    life 1 again for each fault at each call, once and sticky, then steps 2 to 5; and life 2
//                again for a random fault at each call, then steps 4 and 5
//
// Every open counts as one state, which must be among those that the oracle allows.

package import ByteStore

package struct CrashCampaign {
  package enum Stop: Sendable {
    /// Stops after all states, and shrinks the first finding of each kind.
    case atTheEnd
    /// Stops at the first finding and does not shrink it, for callers that only need to know whether one
    /// exists.
    case atFirstFinding
  }

  private let seed: UInt64
  private let statesMax: Int
  private let stop: Stop
  private let setting: Setting
  private var summary = CampaignSummary()

  /// Runs about `states` states. `commitsWaiting` makes group commit deterministic. `breaking` switches
  /// off a rule of the engine, which the campaign should detect. `workload` selects a single workload.
  package static func run(
    states: Int, seed: UInt64, stop: Stop = .atTheEnd, commitsWaiting: CommitsWaiting? = nil,
    breaking rule: Rule? = nil, workload: Int? = nil, progress: (Int) -> Void = { _ in }
  ) -> CampaignSummary {
    let setting = Setting(commitsWaiting: commitsWaiting, brokenRule: rule)
    var campaign = CrashCampaign(seed: seed, statesMax: states, stop: stop, setting: setting)
    if let workload { campaign.explore(workload) } else { campaign.run(progress) }
    return campaign.summary
  }

  /// Returns the first failure with a broken rule, or nil. Runs campaigns of increasing length, because
  /// most rules fail early.
  package static func firstFailure(
    statesMax: Int, seed: UInt64, commitsWaiting: @escaping CommitsWaiting, breaking rule: Rule
  ) -> CampaignSummary.Failure? {
    var states = min(1000, statesMax)
    while true {
      let summary = run(
        states: states, seed: seed, stop: .atFirstFinding, commitsWaiting: commitsWaiting, breaking: rule)
      if let failure = summary.firstFailure { return failure }
      guard states < statesMax else { return nil }
      states = min(states * 6, statesMax)
    }
  }

  /// Returns the trace of one workload, with one line per call.
  package static func trace(ofWorkload seed: UInt64, commitsWaiting: CommitsWaiting? = nil) -> String {
    let exploration = Exploration(workload: 0, seed: seed)
    var scenario = exploration.scenario
    scenario.legs = [exploration.leg()]
    let setting = Setting(commitsWaiting: commitsWaiting)
    return scenario.run(setting, recordsTrace: true).traces.joined(separator: "--\n")
  }

  /// Whether this workload schedules maintenance jobs at random.
  package static func schedulesBackgroundJobs(inWorkload seed: UInt64) -> Bool {
    Exploration(workload: 0, seed: seed).workload.schedulesJobs
  }

  private init(seed: UInt64, statesMax: Int, stop: Stop, setting: Setting) {
    self.seed = seed
    self.statesMax = statesMax
    self.stop = stop
    self.setting = setting
  }

  /// A short campaign samples a few workloads, and a long campaign explores each workload exhaustively. One
  /// in five workloads fills its disk.
  private var statesPerWorkload: Int { statesMax / max(5, statesMax / 10_000) }
  private var secondCrashesMax: Int { max(6, statesPerWorkload / 100) }

  private var isDone: Bool {
    summary.states >= statesMax || stop == .atFirstFinding && !summary.findings.isEmpty
  }

  private mutating func run(_ progress: (Int) -> Void) {
    while !isDone {
      explore(summary.workloads)
      progress(summary.states)
    }
  }

  private mutating func explore(_ workload: Int) {
    explore(Exploration(workload: workload, seed: SeededRandom.seed(seed, UInt64(workload))))
    summary.workloads += 1
  }

  // MARK: One workload

  /// The crashes and faults of one workload, in random order, so that a prefix is a sample.
  private struct Exploration {
    let number: Int
    let seed: UInt64
    let workload: Workload
    var random: SeededRandom

    init(workload number: Int, seed: UInt64) {
      self.number = number
      self.seed = seed
      workload = Workload(seed: SeededRandom.seed(seed, 1), fillsDisk: number % 5 == 4)
      random = SeededRandom(seed: SeededRandom.seed(seed, 2))
    }

    var scenario: Scenario {
      Scenario(
        logBytes: workload.logBytes, flushBytes: workload.flushBytes,
        shortensTransfers: workload.shortensTransfers, schedulesJobs: workload.schedulesJobs,
        capacity: workload.capacity,
        contextBytes: number % 3 == 2 ? 100 + Int(SeededRandom.seed(seed, 4) % 6000) : nil, legs: [])
    }

    func leg(_ fault: FaultPlan? = nil) -> Scenario.Leg {
      Scenario.Leg(
        steps: workload.steps, fault: fault, crashAt: .max, crash: .kill,
        seed: SeededRandom.seed(seed, 3))
    }
  }

  private enum Task {
    case crash(at: Int, Crash)
    case fault(FaultPlan)
  }

  private mutating func explore(_ exploration: Exploration) {
    var exploration = exploration
    let start = summary.states
    guard let first = runLife(exploration.leg(), on: DiskImage(), Oracle(), in: exploration) else { return }
    for task in tasks(first, &exploration.random) {
      guard !isDone, summary.states - start < statesPerWorkload else { return }
      switch task {
      case .crash(let operation, let crash):
        let withFaults = exploration.random.oneIn(8)
        let leg = exploration.leg()
        resume(after: first, leg, at: operation, crash, withFaults: withFaults, &exploration)
      case .fault(let plan):
        injectFault(plan, &exploration)
      }
    }
  }

  private func tasks(_ first: Life, _ random: inout SeededRandom) -> [Task] {
    let history = first.disk.history
    var tasks = crashes(first).map { Task.crash(at: $0.operation, $0.crash) }
    for (operation, entry) in history.enumerated() {
      for fault in DiskFault.allCases where fault.strikes(entry.operation) {
        tasks.append(.fault(FaultPlan(fault, at: operation)))
        tasks.append(.fault(FaultPlan(fault, at: operation, isSticky: true)))
      }
    }
    tasks.shuffle(using: &random)
    return tasks
  }

  /// Combines every call with every kind of survivors, but skips equal disks, because many calls change
  /// nothing.
  private func crashes(_ life: Life) -> [(operation: Int, crash: Crash)] {
    var crashes: [(operation: Int, crash: Crash)] = []
    var seen: Set<[Int]> = []
    for operation in 0...life.disk.history.count {
      let image = life.image(before: operation)
      let expected = life.oracle.expectation(at: operation, after: .kill)
      let key = [image.version, expected.required, expected.durable, expected.points.count]
      let isNew = seen.insert(key).inserted
      if isNew { crashes.append((operation, .kill)) }
      guard !image.isAllDurable else { continue }
      for survivors in Survivors.allCases where survivors.isRandom || isNew {
        let seed = SeededRandom.seed(self.seed, UInt64(operation), UInt64(crashes.count))
        crashes.append((operation, .powerLoss(survivors, seed: seed)))
      }
    }
    return crashes
  }

  private mutating func injectFault(_ plan: FaultPlan, _ exploration: inout Exploration) {
    let leg = exploration.leg(plan)
    guard let life = runLife(leg, on: DiskImage(), Oracle(), in: exploration) else { return }
    let end = life.disk.history.count
    let later = plan.operation + exploration.random.below(end + 1 - min(plan.operation, end))
    resume(after: life, leg, at: end, .kill, &exploration)
    resume(after: life, leg, at: end, powerLoss(&exploration.random), &exploration)
    resume(after: life, leg, at: later, powerLoss(&exploration.random), &exploration)
  }

  // MARK: The second and the third life

  private mutating func resume(
    after first: Life, _ leg: Scenario.Leg, at operation: Int, _ crash: Crash,
    withFaults: Bool = false, _ exploration: inout Exploration
  ) {
    var scenario = exploration.scenario
    scenario.legs = [crashed(leg, at: operation, crash)]
    note(first, operation)
    let image = first.image(before: operation).after(crash)
    let oracle = Oracle(after: first.oracle.expectation(at: operation, after: crash))
    let seed = exploration.random.next()
    var steps = Workload.stepsAfterRecovery(life: 2, seed: seed)
    if exploration.workload.capacity != nil { steps = Workload.onFullDisk(steps, &exploration.random) }
    var second = Scenario.Leg(
      steps: steps, fault: nil, crashAt: .max, crash: .kill, seed: seed)
    guard let life = runLife(second, on: image, oracle, after: scenario, in: exploration) else { return }
    checkReport(of: life, first, at: operation, crash, image, scenario, exploration)

    let isSample = leg.fault != nil
    for operation in operations(of: life, atMost: isSample ? 2 : secondCrashesMax, &exploration.random) {
      finish(life, second, at: operation, scenario, &exploration)
    }
    guard withFaults else { return }
    let history = life.disk.history
    for operation in operations(of: life, atMost: secondCrashesMax, &exploration.random) {
      guard operation < history.count,
        let fault = DiskFault.allCases.filter({ $0.strikes(history[operation].operation) })
          .randomElement(using: &exploration.random)
      else { continue }
      second.fault = FaultPlan(fault, at: operation, isSticky: exploration.random.oneIn(2))
      guard let life = runLife(second, on: image, oracle, after: scenario, in: exploration) else { continue }
      finish(life, second, at: life.disk.history.count, scenario, &exploration)
    }
  }

  private func operations(
    of life: Life, atMost count: Int, _ random: inout SeededRandom
  ) -> ArraySlice<Int> {
    (0...life.disk.history.count).shuffled(using: &random).prefix(count)
  }

  private mutating func finish(
    _ life: Life, _ leg: Scenario.Leg, at operation: Int, _ scenario: Scenario,
    _ exploration: inout Exploration
  ) {
    let before = life.image(before: operation)
    let isKill = before.isAllDurable || exploration.random.oneIn(4)
    let crash = isKill ? .kill : powerLoss(&exploration.random)
    note(life, operation)
    var scenario = scenario
    scenario.legs.append(crashed(leg, at: operation, crash))
    let last = Scenario.Leg(steps: [], fault: nil, crashAt: 0, crash: .kill, seed: 0)
    let oracle = Oracle(after: life.oracle.expectation(at: operation, after: crash))
    _ = runLife(last, on: before.after(crash), oracle, after: scenario, in: exploration)
  }

  private func crashed(_ leg: Scenario.Leg, at operation: Int, _ crash: Crash) -> Scenario.Leg {
    var leg = leg
    leg.crashAt = operation
    leg.crash = crash
    return leg
  }

  private func powerLoss(_ random: inout SeededRandom) -> Crash {
    .powerLoss(Survivors.allCases.randomElement(using: &random)!, seed: random.next())
  }

  // MARK: Living and judging

  /// Runs one life, which counts as one state. Returns nil if the life produced a finding.
  private mutating func runLife(
    _ leg: Scenario.Leg, on image: DiskImage, _ oracle: Oracle, after scenario: Scenario? = nil,
    in exploration: Exploration
  ) -> Life? {
    var scenario = scenario ?? exploration.scenario
    var life = Life(on: image, oracle, scenario.plan(leg, setting))
    summary.states += 1
    let result = Result { () throws(Finding) in try life.run() }
    note(life)
    guard case .failure(let finding) = result else { return life }
    // The scenario ends with the life that produced the finding. Every scenario already includes a final life
    // that only opens the store.
    if !leg.steps.isEmpty || leg.fault != nil { scenario.legs.append(leg) }
    report(finding, scenario, exploration)
    return nil
  }

  /// The recovery report must name exactly the surviving bytes of unfinished commits (P7).
  private mutating func checkReport(
    of life: Life, _ first: Life, at operation: Int, _ crash: Crash, _ image: DiskImage,
    _ scenario: Scenario, _ exploration: Exploration
  ) {
    guard let recovery = life.recovery else { return }
    let before = first.image(before: operation)
    if before.isAllDurable, first.disk.counters.faults == 0, !recovery.report.losses.isEmpty {
      let finding = Finding(.wrongReport, "no bytes were lost, and \(recovery.report) says so")
      report(finding, scenario, exploration)
    }
    let expected = first.oracle.expectation(at: operation, after: crash)
    guard recovery.commit == expected.required, recovery.commit < expected.points.count - 1 else { return }
    // Commits of one group begin together. Therefore, it is not visible from outside which unsynced bytes
    // belong to which commit.
    let isOfOneGroup =
      expected.points[recovery.commit].beganAt == expected.points[recovery.commit + 1].beganAt
    guard !isOfOneGroup else { return }
    // Bytes that were unsynced before the lost commits began belong to other commits.
    let earlier = first.image(before: expected.points[recovery.commit + 1].beganAt)
    for path in before.paths where path.contains("/log-") {
      // A log file that no manifest names contained nothing, and recovery removes it.
      guard recovery.image.contents(of: path) != nil else { continue }
      let isNamed = before.unsyncedBytes(of: path, since: earlier, survivingIn: image).allSatisfy { range in
        recovery.report.losses.contains { loss in
          loss.file == path && loss.offset < UInt64(range.upperBound)
            && loss.offset + loss.length > UInt64(range.lowerBound)
        }
      }
      guard !isNamed else { continue }
      let finding = Finding(.wrongReport, "bytes of \(path) were dropped in silence")
      return report(finding, scenario, exploration)
    }
  }

  private mutating func note(_ life: Life, _ operation: Int) {
    let history = life.disk.history
    guard operation < history.count else { return }
    summary.crashes[history[operation].operation, default: 0] += 1
  }

  private mutating func note(_ life: Life) {
    for point in life.disk.faultPoints { summary.faults[point, default: 0] += 1 }
    summary.overlaps += life.jobCounts.overlaps
    for (job, count) in life.jobCounts.jobs { summary.jobs[job, default: 0] += count }
  }

  private mutating func report(_ finding: Finding, _ scenario: Scenario, _ exploration: Exploration) {
    summary.findings[finding.kind, default: 0] += 1
    guard summary.failures[finding.kind] == nil else { return }
    let shrunk = stop == .atTheEnd ? shrunk(scenario, finding) : scenario
    let outcome = shrunk.run(setting, recordsTrace: true)
    summary.failures[finding.kind] = CampaignSummary.Failure(
      finding: outcome.finding ?? finding, seed: seed, workload: exploration.number,
      state: summary.states, scenario: shrunk, trace: outcome.traces.joined(separator: "--\n"))
  }
  private func shrunk(_ scenario: Scenario, _ finding: Finding) -> Scenario {
    var shrinker = ScenarioShrinker(scenario, finding, setting)
    return shrinker.shrunk()
  }
}
