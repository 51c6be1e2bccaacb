// A deterministic scheduler for background jobs.
//
// In production a job runs on another thread. Here a job advances step by step, interleaved at random with
// calls, their steps, and the steps of other jobs.
//
// - One thread runs at a time: the caller's thread hands the turn to a job, and gets it back when the job
//   pauses or ends. Therefore a seed reproduces a run.
// - A job gets a turn only if it does not have to wait for a paused thread. Such a wait would never end,
//   because the paused thread would not be resumed.

internal import ByteStore

final class JobScheduler: BackgroundSimulator {
  /// The caller's current operation, which a job might have to wait for.
  enum CallerOperation: Sendable { case commit, flush }

  struct Counts: Sendable {
    /// The number of jobs run.
    var jobs: [Maintenance.Job: Int] = [:]
    /// The number of job steps while another job was paused.
    var overlaps = 0
  }

  /// A background job. Its mutable state is protected by the lock of the enclosing scheduler's state.
  private final class Job {
    /// A `held` job has begun and would have to wait for a commit.
    enum Phase { case waiting, begun, held, ended }

    let kind: Maintenance.Job
    let run: @Sendable () -> Void
    var phase = Phase.waiting

    var hasBegun: Bool { phase == .begun || phase == .held }

    init(_ kind: Maintenance.Job, _ run: @escaping @Sendable () -> Void) {
      self.kind = kind
      self.run = run
    }
  }

  private struct State {
    var random: SeededRandom
    /// A job advances in this many of four opportunities.
    var eagerness: Int
    /// The jobs by number, in the order of arrival.
    var jobs: [Int: Job] = [:]
    var threads: [Int: WorkerThread] = [:]
    var jobsSoFar = 0
    /// The job whose turn it is; nil means the caller.
    var turn: Int?
    var callerOperations: [CallerOperation] = []
    var counts = Counts()

    func canAdvance(_ job: Job) -> Bool {
      guard job.phase != .held else { return !callerOperations.contains(.commit) }
      guard job.phase == .waiting, job.kind != .recycledLog else { return true }
      // The two remaining kinds of job wait for a commit in progress. A flush also waits for another flush.
      let isFlushing = jobs.values.contains { $0.kind == .flush && $0.hasBegun }
      return !callerOperations.contains(.commit)
        && (job.kind != .flush || !isFlushing && !callerOperations.contains(.flush))
    }
  }

  private let state: Locked<State>

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let eagerness = 1 + random.below(3)
    state = Locked(State(random: random, eagerness: eagerness))
  }

  var counts: Counts { state.withLock { $0.counts } }

  func add(_ kind: Maintenance.Job, _ run: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.jobs[state.jobsSoFar] = Job(kind, run)
      state.jobsSoFar += 1
    }
  }

  // MARK: The caller

  /// Advances a random number of jobs.
  func runSome() {
    while state.withLock({ $0.random.below(4) < $0.eagerness }), advance(where: { _ in true }) {}
  }

  /// Runs the caller's operation `body`. Jobs that would have to wait for this operation do not start until
  /// it has ended.
  @discardableResult
  func during<Result>(_ operation: CallerOperation, _ body: () -> Result) -> Result {
    state.withLock { $0.callerOperations.append(operation) }
    defer { state.withLock { _ = $0.callerOperations.removeLast() } }
    return body()
  }

  /// Finishes a flush that has begun, because a flush of the caller would wait for it.
  func finishFlush() {
    while advance(where: { $0.kind == .flush && $0.hasBegun }) {}
  }

  /// Finishes the jobs that a close waits for: jobs that have begun, and jobs that prepare a recycled log
  /// file. Other jobs may start after the close.
  func finishBeforeClose() {
    runSome()
    while advance(where: { $0.hasBegun || $0.kind == .recycledLog }) {}
  }

  func finishAll() {
    while advance(where: { _ in true }) {}
  }

  /// Advances a random job among those that match and can advance. Returns false if no job can.
  private func advance(where isWanted: (Job) -> Bool) -> Bool {
    let chosen = state.withLock { state -> (number: Int, isNew: Bool)? in
      let possible = state.jobs.filter { isWanted($0.value) && state.canAdvance($0.value) }
      guard let number = possible.keys.sorted().randomElement(using: &state.random),
        let job = possible[number]
      else { return nil }
      let isNew = job.phase == .waiting
      if isNew { state.counts.jobs[job.kind, default: 0] += 1 }
      if state.jobs.contains(where: { $0.key != number && $0.value.hasBegun }) {
        state.counts.overlaps += 1
      }
      job.phase = .begun
      state.turn = number
      return (number, isNew)
    }
    guard let chosen else { return false }
    if chosen.isNew { begin(chosen.number) }
    state.wakeAll()
    let ended = state.withLock(when: { $0.turn == nil }) { state -> WorkerThread? in
      guard state.jobs[chosen.number]?.phase == .ended else { return nil }
      return state.threads.removeValue(forKey: chosen.number)
    }
    // The job's objects have been released by now, too.
    if let ended {
      ended.join()
      state.withLock { _ = $0.jobs.removeValue(forKey: chosen.number) }
    }
    return true
  }

  // MARK: The jobs

  private func begin(_ number: Int) {
    let thread = WorkerThread { [self] in
      let job = state.withLock { $0.jobs[number] }
      job?.run()
      endTurn { $0.jobs[number]?.phase = .ended }
    }
    state.withLock { $0.threads[number] = thread }
  }

  private func endTurn(_ note: (inout State) -> Void = { _ in }) {
    state.withLock { state in
      note(&state)
      state.turn = nil
    }
    state.wakeAll()
  }

  func pause(_ point: Maintenance.PausePoint) {
    switch point {
    case .commitLogged: during(.commit) { pause() }
    case .flushStarts: pause(in: .held)
    case .recycledLogRequested, .recycledLogWritten, .segmentsDeleted: pause()
    }
  }

  enum Side { case caller, job }

  /// If called within a job, returns the turn to the caller. If called by the caller, runs some jobs. Returns
  /// the side that made the call.
  @discardableResult
  func pause() -> Side { pause(in: .begun) }

  @discardableResult
  private func pause(in phase: Job.Phase) -> Side {
    guard let number = state.withLock({ $0.turn }) else {
      runSome()
      return .caller
    }
    endTurn { $0.jobs[number]?.phase = phase }
    state.withLock(when: { $0.turn == number }) { _ in }
    return .job
  }
}
