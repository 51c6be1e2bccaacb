// The background, played by dice: the jobs that a store would have run by other threads advance step by step, in
// any order, between the calls of its callers, between the steps of these calls and between each other's steps.
//
//   - One thread runs at a time, whatever threads there are: the caller's hands its turn to a job, and gets it
//     back where the job pauses or ends. Hence the same seed gives the same run.
//   - A job only gets a turn if it need not wait for whoever is paused: nobody would wake it.

internal import ByteStore

final class JobScheduler: BackgroundSimulator {
  /// What the caller is doing, which a job might have to wait for.
  enum Occupation: Sendable { case commit, flush }

  struct Counts: Sendable {
    /// Jobs that were run.
    var jobs: [Maintenance.Job: Int] = [:]
    /// Steps of a job while another one stood between two steps of its own.
    var overlaps = 0
  }

  /// What changes is protected by the lock of the state that it is in.
  private final class Job {
    /// One that is `held` has begun, and would have to wait for a commit.
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
    /// Of four times that a job could advance, it does so often.
    var eagerness: Int
    /// By their numbers, which follow each other in the order in which they came.
    var jobs: [Int: Job] = [:]
    var threads: [Int: WorkerThread] = [:]
    var jobsSoFar = 0
    /// The job whose turn it is; nil is the caller.
    var turn: Int?
    var occupations: [Occupation] = []
    var counts = Counts()

    func canAdvance(_ job: Job) -> Bool {
      guard job.phase != .held else { return !occupations.contains(.commit) }
      guard job.phase == .waiting, job.kind != .spare else { return true }
      // Both wait for a commit, and a flush for another one.
      let isFlushing = jobs.values.contains { $0.kind == .flush && $0.hasBegun }
      return !occupations.contains(.commit)
        && (job.kind != .flush || !isFlushing && !occupations.contains(.flush))
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

  /// Some jobs advance, or none.
  func runSome() {
    while state.withLock({ $0.random.below(4) < $0.eagerness }), advance(where: { _ in true }) {}
  }

  /// `body` is what the caller does; a job that would have to wait for it does not begin meanwhile.
  @discardableResult
  func during<Result>(_ occupation: Occupation, _ body: () -> Result) -> Result {
    state.withLock { $0.occupations.append(occupation) }
    defer { state.withLock { _ = $0.occupations.removeLast() } }
    return body()
  }

  /// For a flush of the caller's, which would wait for one that has begun.
  func finishFlush() {
    while advance(where: { $0.kind == .flush && $0.hasBegun }) {}
  }

  /// For a close, which would wait for what has begun and for spares. Other jobs may begin after it.
  func finishBeforeClose() {
    runSome()
    while advance(where: { $0.hasBegun || $0.kind == .spare }) {}
  }

  func finishAll() {
    while advance(where: { _ in true }) {}
  }

  /// One of the jobs that are wanted and can advance does so; false if there is none.
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
    // What the job held on to is let go of by now, too.
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

  func pause(_ moment: Maintenance.PausePoint) {
    switch moment {
    case .commitLogged: during(.commit) { pause() }
    case .flushStarts: pause(in: .held)
    case .recycledLogOrdered, .recycledLogWritten, .segmentsDeleted: pause()
    }
  }

  enum Side { case caller, job }

  /// In a job, the caller's turn comes; in the caller, some jobs'. Who it was is the answer.
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
