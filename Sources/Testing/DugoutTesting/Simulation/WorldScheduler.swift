// Runs everything in a test world one after the other: the tasks of the test, the queues and timers of the
// clients, and the messages of the network.
//
// One thread plays the world:
//   1. Run the bodies that are due now, in the order in which they were submitted.
//   2. When none is due, tell the owner that the world is idle. The owner may submit bodies.
//   3. If something in the world waits, set the time to that of the next body, and go to 1.
//   4. Otherwise the test waits for something outside the world. Wait until a body is submitted.
//
// A blocking operation runs on a thread of its own, to which the turn is lent. The thread gives the turn back
// when it blocks and when it ends.

internal import Foundation
internal import OfflineSync

/// The world, as far as its scheduler asks it.
protocol WorldOwner: AnyObject, Sendable {
  /// Called when no body is due. Returns whether it has submitted one.
  func wakeWaiters() -> Bool
  /// Whether anything waits for the time to pass.
  var waitsForTime: Bool { get }
  /// Called when the test cannot go on.
  func stall(_ kind: WorldScheduler.Stall)
}

final class WorldScheduler: Simulation, TaskExecutor, @unchecked Sendable {
  // The conformance is unchecked, because `condition` protects all mutable state.

  enum Stall {
    /// The test has waited for this long in the world.
    case inWorld(microseconds: Int64)
    /// The test waits for something outside the world.
    case outside
  }

  /// 2024-01-01, 00:00 UTC.
  static let start: Int64 = 1_704_067_200_000_000

  private static let waitMax: Int64 = 3_600_000_000
  private static let outsideSecondsMax: Double = 60

  private let condition = NSCondition()
  private var time = start
  private var jobs = JobQueue()
  private var rng: SplitMix64
  private var holdCount = 0
  private var threadCount = 0
  /// The sleeps, each with what ends it when the world ends.
  private var waits: [Int: @Sendable () -> Void] = [:]
  private var lastWait = 0
  /// The thread that has the turn.
  private var holder: ObjectIdentifier?
  /// The last time at which a task of the test ran.
  private var lastTaskTime = start
  private var hasStalled = false
  private var isEnding = false
  private var isOver = false
  private weak var owner: (any WorldOwner)?

  init(seed: UInt64) { rng = SplitMix64(seed: seed) }

  private func locked<Value>(_ body: () -> Value) -> Value {
    condition.lock()
    defer { condition.unlock() }
    return body()
  }

  private static var thread: ObjectIdentifier { ObjectIdentifier(Thread.current) }

  // MARK: Playing

  /// Plays the world on a new thread until `finish`.
  func start(_ owner: any WorldOwner) {
    locked { self.owner = owner }
    Thread.detachNewThread { [self] in
      locked { holder = Self.thread }
      while step() {}
    }
  }

  /// Ends the playing when no body is due any more.
  func finish() {
    locked {
      isEnding = true
      condition.broadcast()
    }
  }

  /// Runs one body. Returns false when the world has ended.
  private func step() -> Bool {
    while true {
      if let body = nextDue() {
        body()
        return true
      }
      guard locked({ !isOver }) else { return false }
      guard waitForHolds() else { continue }
      let owner = locked { self.owner }
      if owner?.wakeWaiters() == true { continue }
      passTime(owner)
    }
  }

  private func nextDue() -> JobQueue.Body? {
    let (body, ended) = locked { () -> (JobQueue.Body?, [@Sendable () -> Void]) in
      if let (_, body) = jobs.removeNext(dueAt: time) { return (body, []) }
      guard isEnding, holdCount == 0 else { return (nil, []) }
      isOver = true
      jobs.removeAll()
      defer { waits = [:] }
      return (nil, waits.sorted { $0.key < $1.key }.map(\.value))
    }
    for end in ended { end() }
    return body
  }

  /// Waits for threads outside that will submit a body. Returns true if there are none.
  private func waitForHolds() -> Bool {
    locked {
      guard holdCount > 0 else { return true }
      // A body that was submitted since `nextDue` has signalled before this wait.
      if !isDue { condition.wait() }
      return false
    }
  }

  /// Sets the time to that of the next body, or waits for a body from outside.
  private func passTime(_ owner: (any WorldOwner)?) {
    let isAwaited = owner?.waitsForTime ?? false
    let stall: Stall? = locked {
      if isEnding || isDue || holdCount > 0 { return nil }
      guard let next = jobs.nextTime, !hasStalled, isAwaited || !waits.isEmpty || threadCount > 0 else {
        return waitForOutside()
      }
      let waited = next - lastTaskTime
      if waits.isEmpty, waited > Self.waitMax { return .inWorld(microseconds: waited) }
      time = next
      return nil
    }
    guard let stall else { return }
    locked { hasStalled = true }
    owner?.stall(stall)
  }

  /// Whether a body is due. Called with the lock.
  private var isDue: Bool { jobs.nextTime.map { $0 <= time } ?? false }

  private func waitForOutside() -> Stall? {
    guard !hasStalled else {
      condition.wait()
      return nil
    }
    let isWoken = condition.wait(until: Date(timeIntervalSinceNow: Self.outsideSecondsMax))
    return isWoken ? nil : .outside
  }

  // MARK: A serial executor with timers

  func now() -> Int64 { locked { time } }

  func run(_ body: @escaping @Sendable () -> Void) { run(after: 0, body) }

  /// When the world has ended, the body runs at once on another thread, so that a task which outlives the
  /// world does not wait for ever.
  func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    if !submit(after: microseconds, body) { DispatchQueue.global().async(execute: body) }
  }

  /// Returns false if the world has ended, which will not run the body.
  private func submit(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) -> Bool {
    locked {
      guard !isOver else { return false }
      jobs.add(at: time + max(0, microseconds), body)
      condition.broadcast()
      return true
    }
  }

  var isCurrent: Bool { locked { isOver || holder == Self.thread } }

  var simulation: (any Simulation)? { self }

  func random() -> UInt64 { locked { rng.next() } }

  // MARK: Tasks

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    run { [self] in
      locked { lastTaskTime = time }
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  // MARK: Waits

  func pause(_ microseconds: Int64, then body: @escaping @Sendable () -> Void) {
    // At the end of the world the body runs at once, because `nextDue` then removes the job.
    let wait = beginWait(body)
    run(after: microseconds) { [self] in
      endWait(wait)
      body()
    }
  }

  /// Lets the time pass until `endWait` is called with the returned number. Calls `onEnd` if the world ends
  /// before.
  func beginWait(_ onEnd: @escaping @Sendable () -> Void = {}) -> Int {
    locked {
      lastWait += 1
      waits[lastWait] = onEnd
      return lastWait
    }
  }

  func endWait(_ number: Int) { locked { waits[number] = nil } }

  func hold() -> @Sendable (@escaping @Sendable () -> Void) -> Void {
    locked { holdCount += 1 }
    return { [self] body in
      let isPlaying = locked {
        holdCount -= 1
        condition.broadcast()
        guard !isOver else { return false }
        jobs.add(at: time, isLate: true, body)
        return true
      }
      if !isPlaying { DispatchQueue.global().async(execute: body) }
    }
  }

  // MARK: Turns

  func drain(until isOver: () -> Bool) {
    guard isCurrent else { return exclusively { drain(until: isOver) } }
    while !isOver(), let body = nextDue() { body() }
  }

  func perform(_ body: () -> Void) {
    guard isCurrent else { return exclusively(body) }
    let hasPassed = Flag()
    run { hasPassed.raise() }
    drain { hasPassed.isRaised }
    body()
  }

  /// Runs `body` on the calling thread, which is outside the world, while the world waits.
  private func exclusively(_ body: () -> Void) {
    let turn = Turn()
    let isGiven = DispatchSemaphore(value: 0)
    let isPlaying = submit(after: 0) { [self] in
      lend { back in
        turn.back = back
        isGiven.signal()
      }
    }
    guard isPlaying else { return body() }
    isGiven.wait()
    locked { holder = Self.thread }
    body()
    turn.back?.signal()
  }

  func startThread(_ body: @escaping @Sendable () -> Void) {
    run { [self] in
      locked { threadCount += 1 }
      lend { back in
        let turn = Turn()
        turn.back = back
        Thread.detachNewThread { [self] in
          turn.take()
          locked { holder = Self.thread }
          body()
          locked { threadCount -= 1 }
          turn.back?.signal()
        }
      }
    }
  }

  func suspend(_ begin: (_ resume: @escaping @Sendable () -> Void) -> Void) {
    let isResumed = DispatchSemaphore(value: 0)
    guard isCurrent else {
      begin { isResumed.signal() }
      return isResumed.wait()
    }
    guard let turn = Turn.current else {
      let flag = Flag()
      begin { [self] in run { flag.raise() } }
      while !flag.isRaised, step() {}
      return
    }
    begin { [self] in
      run { [self] in
        lend { back in
          turn.back = back
          isResumed.signal()
        }
      }
    }
    turn.back?.signal()
    isResumed.wait()
    locked { holder = Self.thread }
  }

  /// Gives the turn to another thread, and waits until it signals that it gives the turn back.
  private func lend(_ begin: (_ back: DispatchSemaphore) -> Void) {
    let previous = locked { holder }
    let back = DispatchSemaphore(value: 0)
    begin(back)
    back.wait()
    locked { holder = previous }
  }
}
