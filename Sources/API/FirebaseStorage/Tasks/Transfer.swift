// A running transfer. It connects the state machine, the worker and the observers.
//
// Invariants:
// - The machine, the observers and the state of snapshots change together, under one lock. Events are
//   enqueued on the callback queue under that lock, so that they arrive in the order of the changes.
// - The worker runs on the transfer's own queue, one run at a time. A new run supersedes the previous run and
//   starts when the previous run has stopped.
// - All transfers share a fixed number of threads. A run proceeds in steps. After each step, other transfers
//   run their steps, so that a large file does not delay them.
// - A transfer prepares, advances and finishes only while it has a slot of its lane. It returns the slot
//   while it is paused or waits for a remote.

import ByteStore
import FirebaseCore
import Foundation

/// A transfer. Any thread may use it.
final class Transfer: Sendable {
  /// The minimum time between two progress events.
  private static let nanosecondsBetweenProgress: UInt64 = 50_000_000

  /// The number of pieces in one step.
  private static let piecesPerStep = 4

  private let lane: TransferLane
  private let queue: DispatchQueue
  private let callbackQueue: DispatchQueue
  private let client: StorageClient
  private let worker: any TransferWorker
  private let state: Locked<State>

  private struct State: Sendable {
    var machine: TransferMachine
    /// The number of the current run. Runs with any other number must stop.
    var run = 0
    var slotState = SlotState.none
    /// Whether the run that waits for a slot will start from the beginning. If false, the run will continue.
    var startsRun = false
    var observers: [Observer] = []
    var completed: Int64 = 0
    var total: Int64 = -1
    var lastProgressTime: UInt64 = 0
    var error: StorageError?
    /// The metadata in the snapshots of an upload.
    var metadata: StorageMetadata?
    /// The task of the transfer, retained while the transfer is in progress.
    var task: StorageTask?
    /// Closures to call at the end of the transfer. They do not run on the callback queue.
    var waiting: [@Sendable (StorageTaskSnapshot) -> Void] = []
    /// Closures to call when a number of bytes is completed.
    var milestones: [Milestone] = []
  }

  private struct Milestone: Sendable {
    let bytes: Int64
    let body: @Sendable () -> Void
  }

  private enum SlotState { case none, asked, had }

  private final class Observer: Sendable {
    let handle = UUID().uuidString
    let status: StorageTaskStatus
    let handler: Callback<StorageTaskSnapshot>
    /// Whether the handler is the completion handler that was passed when the task was created.
    /// `removeObserver` does not remove such a handler.
    let isCompletion: Bool
    private let removed = Locked(false)

    init(_ status: StorageTaskStatus, _ handler: Callback<StorageTaskSnapshot>, isCompletion: Bool) {
      self.status = status
      self.handler = handler
      self.isCompletion = isCompletion
    }

    func remove() { removed.withLock { $0 = true } }
    var isRemoved: Bool { removed.withLock { $0 } }
  }

  init(
    _ worker: any TransferWorker, _ client: StorageClient, callbackQueue: DispatchQueue,
    metadata: StorageMetadata?, lane: TransferLane = TransferLanes.next()
  ) {
    self.lane = lane
    queue = DispatchQueue(label: "dugout.storage.transfer", target: lane.queue)
    self.worker = worker
    self.client = client
    self.callbackQueue = callbackQueue
    state = Locked(
      State(machine: TransferMachine(pausesAtOnce: worker.pausesAtOnce), metadata: metadata))
  }

  // MARK: Events

  /// Starts the transfer.
  func begin(_ task: StorageTask) {
    state.withLock { $0.task = task }
    client.register(self) { [weak self] in self?.interrupt() }
    handle(.enqueue)
  }

  func handle(_ event: TransferMachine.Event) {
    if event == .cancel { return cancel() }
    _ = state.withLock { handle(event, &$0) }
  }

  private func cancel() {
    state.withLock { state in
      let before = state.error
      state.error = .cancelled
      if !handle(.cancel, &state) { state.error = before }
    }
  }

  /// Ends the transfer because its app is being deleted. Staged parts are kept.
  private func interrupt() {
    state.withLock { state in
      // A transfer that is completing is not interrupted: it succeeds, and closing waits for it.
      guard !state.machine.isOver, state.machine.state != .completing else { return }
      state.error = .cancelled
      handle(.fail, &state)
      state.run += 1
      client.work(on: queue) { [worker] in worker.leave() }
    }
  }

  @discardableResult
  private func handle(_ event: TransferMachine.Event, _ state: inout State) -> Bool {
    guard let effects = state.machine.handle(event) else { return false }
    if event == .pause {
      let (isWaiting, run) = (state.slotState == .asked, state.run)
      client.work(on: queue) { [self] in
        worker.hold()
        // The run is still waiting for a slot, so the pause takes effect without waiting for the slot.
        if isWaiting { stopped(run) }
      }
    }
    for effect in effects {
      switch effect {
      case .run:
        state.run += 1
        enter(isFirst: true, &state)
      case .fire(let status): fire(status, state)
      case .cleanUp: client.runCleanup(on: queue) { [worker] in worker.discard() }
      }
    }
    if state.machine.isOver { end(&state) }
    return true
  }

  private func end(_ state: inout State) {
    state.observers = []
    if let task = state.task, !state.waiting.isEmpty {
      let snapshot = Self.snapshot(of: task, state, status: state.machine.state.status)
      let waiting = state.waiting
      state.waiting = []
      queue.async { for body in waiting { body(snapshot) } }
    }
    state.task = nil
    releaseSlot(&state)
    client.unregister(self)
  }

  // MARK: Slots

  private func enter(isFirst: Bool, _ state: inout State) {
    switch state.slotState {
    case .had:
      let run = state.run
      queue.async { [self] in work(run, isFirst: isFirst) }
    case .asked: state.startsRun = state.startsRun || isFirst
    case .none:
      state.startsRun = isFirst
      state.slotState = .asked
      lane.enter { [self] in begin() }
    }
  }

  /// Starts or continues the run when the lane has granted a slot.
  private func begin() {
    state.withLock { state in
      state.slotState = .had
      guard !state.machine.isOver else { return releaseSlot(&state) }
      let (run, isFirst) = (state.run, state.startsRun)
      state.startsRun = false
      queue.async { [self] in work(run, isFirst: isFirst) }
    }
  }

  /// Returns the slot after the work that is already in the transfer's queue.
  private func releaseSlot(_ state: inout State) {
    guard state.slotState == .had else { return }
    state.slotState = .none
    queue.async { [lane] in lane.leave() }
  }

  // MARK: Work

  /// Runs one step of a run.
  private func work(_ run: Int, isFirst: Bool) {
    let isDone = client.performIfOpen {
      do throws(StorageError) {
        guard isCurrent(run) else { return stopped(run) }
        if isFirst {
          try worker.prepare()
          guard step(.start, run) else { return stopped(run) }
        }
        for _ in 0..<Self.piecesPerStep {
          let outcome = try worker.advance()
          if outcome == .none { return try complete(run) }
          reportProgress(run)
          guard isCurrent(run) else { return stopped(run) }
          if outcome == .waiting { return wait(run) }
        }
        continueRun(run)
      } catch {
        fail(error)
      }
    }
    if !isDone { failBecauseAppWasDeleted() }
  }

  /// Returns the slot and waits until the worker can continue.
  private func wait(_ run: Int) {
    state.withLock { if $0.run == run { releaseSlot(&$0) } }
    worker.whenChanged { [self] in
      let isCurrent = state.withLock { state in
        let isCurrent = state.run == run && state.machine.isRunning
        if isCurrent { enter(isFirst: false, &state) }
        return isCurrent
      }
      if !isCurrent { client.work(on: queue) { [self] in stopped(run) } }
    }
  }

  /// Enqueues the next step after the steps of other transfers. The step goes through the lane's queue first,
  /// because a target queue drains one of its queues completely before it serves the next queue.
  private func continueRun(_ run: Int) {
    lane.queue.async { [self] in
      queue.async { [self] in work(run, isFirst: false) }
    }
  }

  private func complete(_ run: Int) throws(StorageError) {
    guard step(.complete, run) else { return stopped(run) }
    finish(try worker.finish())
  }

  /// Fails the transfer because its app was deleted. Staged parts are kept. If the transfer had already
  /// ended, does nothing, because the staged parts were handled when it ended.
  private func failBecauseAppWasDeleted() {
    let isLeft = state.withLock { state in
      guard !state.machine.isOver else { return false }
      state.error = .cancelled
      return handle(.fail, &state)
    }
    if isLeft { worker.leave() }
  }

  /// Handles an event of the current run. Returns false if the run was superseded or the machine rejects
  /// the event.
  private func step(_ event: TransferMachine.Event, _ run: Int) -> Bool {
    state.withLock { $0.run == run && $0.machine.isRunning && handle(event, &$0) }
  }

  private func isCurrent(_ run: Int) -> Bool { state.withLock { $0.run == run && $0.machine.isRunning } }

  private func reportProgress(_ run: Int) {
    let (completed, total) = (worker.completed, worker.total)
    let now = DispatchTime.now().uptimeNanoseconds
    state.withLock { state in
      let hasProgressed = completed != state.completed
      (state.completed, state.total) = (completed, total)
      callReachedMilestones(&state)
      guard state.run == run, hasProgressed, now &- state.lastProgressTime >= Self.nanosecondsBetweenProgress
      else { return }
      state.lastProgressTime = now
      handle(.progress, &state)
    }
  }

  /// Handles a run that has found that the transfer is paused, cancelled or superseded.
  private func stopped(_ run: Int) {
    // Only a pause requires work here. If the transfer has ended, its cleanup is started elsewhere. If a new
    // run has started, it uses the open files.
    let isPaused = state.withLock { !$0.machine.isOver && !($0.run != run && $0.machine.isRunning) }
    guard isPaused else { return }
    do throws(StorageError) {
      try worker.stop()
      state.withLock { state in
        _ = handle(.stop, &state)
        // Keep the slot if another run was started in the meantime.
        if !state.machine.isRunning { releaseSlot(&state) }
      }
    } catch {
      fail(error)
    }
  }

  private func finish(_ metadata: StorageMetadata?) {
    let (completed, total) = (worker.completed, worker.total)
    state.withLock { state in
      (state.completed, state.total) = (completed, total)
      callReachedMilestones(&state)
      if let metadata { state.metadata = metadata }
      handle(.succeed, &state)
    }
  }

  private func fail(_ error: StorageError) {
    worker.abort()
    state.withLock { state in
      // If the transfer has already ended, its error and its staged parts were handled then.
      guard !state.machine.isOver else { return }
      state.error = error
      handle(.fail, &state)
    }
  }

  // MARK: Observers

  func observe(
    _ status: StorageTaskStatus, of task: StorageTask, isCompletion: Bool = false,
    _ handler: @escaping (StorageTaskSnapshot) -> Void
  ) -> String {
    let observer = Observer(status, Callback(handler), isCompletion: isCompletion)
    state.withLock { state in
      if !state.machine.isOver { state.observers.append(observer) }
      guard state.machine.state.matches(status) else { return }
      deliver(Self.snapshot(of: task, state, status: state.machine.state.status), to: observer)
    }
    return observer.handle
  }

  /// Calls `completion` once, after all observers. To run after them, the call is enqueued on the callback
  /// queue a second time, after the last event.
  func observeEnd(of task: StorageTask, _ completion: @escaping (StorageTaskSnapshot) -> Void) {
    let callback = Callback(completion)
    let later: (StorageTaskSnapshot) -> Void = { [callbackQueue] snapshot in
      callbackQueue.async { callback(snapshot) }
    }
    _ = observe(.success, of: task, isCompletion: true, later)
    _ = observe(.failure, of: task, isCompletion: true, later)
  }

  /// Calls `body` when the transfer ends, independently of the callback queue. Calls `body` immediately if
  /// the transfer has already ended.
  func whenEnded(of task: StorageTask, _ body: @escaping @Sendable (StorageTaskSnapshot) -> Void) {
    let snapshot = state.withLock { state -> StorageTaskSnapshot? in
      guard !state.machine.isOver else {
        return Self.snapshot(of: task, state, status: state.machine.state.status)
      }
      state.waiting.append(body)
      return nil
    }
    if let snapshot { body(snapshot) }
  }

  /// Calls `body` once on the callback queue when at least `bytes` bytes are completed. The rate of progress
  /// events is limited, so the last progress event before a wait for the remote may show fewer bytes.
  func whenCompleted(_ bytes: Int64, _ body: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.milestones.append(Milestone(bytes: bytes, body: body))
      callReachedMilestones(&state)
    }
  }

  private func callReachedMilestones(_ state: inout State) {
    let completed = state.completed
    for milestone in state.milestones where milestone.bytes <= completed {
      callbackQueue.async(execute: milestone.body)
    }
    state.milestones.removeAll { $0.bytes <= completed }
  }

  func removeObservers(_ isMeant: (String) -> Bool) {
    remove { isMeant($0.handle) }
  }

  func removeObservers(of status: StorageTaskStatus) {
    remove { $0.status == status }
  }

  private func remove(_ isMeant: (Observer) -> Bool) {
    state.withLock { state in
      for observer in state.observers where !observer.isCompletion && isMeant(observer) { observer.remove() }
      state.observers.removeAll(where: \.isRemoved)
    }
  }

  private func fire(_ status: StorageTaskStatus, _ state: State) {
    guard let task = state.task else { return }
    let observers = state.observers.filter { $0.status == status }
    // Enqueue completion handlers last. The callback queue may already be running, and a completion handler
    // that was enqueued earlier could run before an observer.
    for observer in observers.filter({ !$0.isCompletion }) + observers.filter(\.isCompletion) {
      deliver(Self.snapshot(of: task, state, status: status), to: observer)
    }
  }

  private func deliver(_ snapshot: StorageTaskSnapshot, to observer: Observer) {
    callbackQueue.async { if !observer.isRemoved { observer.handler(snapshot) } }
  }

  // MARK: Snapshots

  func snapshot(of task: StorageTask) -> StorageTaskSnapshot {
    state.withLock { Self.snapshot(of: task, $0, status: $0.machine.state.status) }
  }

  private static func snapshot(
    of task: StorageTask, _ state: State, status: StorageTaskStatus
  ) -> StorageTaskSnapshot {
    let progress = Progress(totalUnitCount: state.total)
    progress.completedUnitCount = state.completed
    return StorageTaskSnapshot(
      task: task, metadata: state.metadata?.copied(), reference: task.reference, progress: progress,
      error: state.error, status: status)
  }
}
