// The state machine of a transfer, as a value: (state, event) -> effects. It has no clock, thread or I/O.

package struct TransferMachine: Sendable {
  package enum State: Sendable, CaseIterable {
    case unknown, queueing, running, resuming, progress, pausing, paused
    case completing, success, failing, failed, cancelled
  }

  package enum Event: Sendable, CaseIterable {
    case enqueue
    /// A worker has started, and there is something to transfer.
    case start
    /// More bytes were transferred.
    case progress
    case pause
    /// The worker has stopped for a pause.
    case stop
    case resume
    case cancel
    /// All bytes are transferred. From here on, the transfer cannot be paused or cancelled.
    case complete
    case succeed
    case fail
  }

  package enum Effect: Sendable, Equatable {
    /// Start a run of the worker, which supersedes an earlier run.
    case run
    case fire(StorageTaskStatus)
    /// Remove everything that was transferred.
    case cleanUp
  }

  /// Whether a pause takes effect at once. This holds for uploads, because staged parts stay. A download
  /// pauses when its worker has stopped.
  let pausesAtOnce: Bool
  package private(set) var state = State.unknown
  private var hasStarted = false

  package init(pausesAtOnce: Bool) { self.pausesAtOnce = pausesAtOnce }

  /// Handles an event. Returns nil if the event has no meaning in this state.
  package mutating func handle(_ event: Event) -> [Effect]? {
    guard let (next, effects) = reaction(to: event) else { return nil }
    state = next
    if event == .start { hasStarted = true }
    return effects
  }

  private func reaction(to event: Event) -> (State, [Effect])? {
    switch (event, state) {
    case (.enqueue, .unknown): (.queueing, [.run])
    case (.start, .queueing), (.start, .resuming), (.start, .running), (.start, .progress): (.running, [])
    case (.progress, .running), (.progress, .progress), (.progress, .resuming):
      (.progress, [.fire(.progress)])
    case (.pause, .unknown): (.paused, [.fire(.pause)])
    case (.pause, .queueing), (.pause, .resuming), (.pause, .running), (.pause, .progress):
      pausesAtOnce ? (.paused, [.fire(.pause)]) : (.pausing, [])
    case (.stop, .pausing): (.paused, [.fire(.pause)])
    case (.resume, .unknown), (.resume, .pausing), (.resume, .paused): (.resuming, [.fire(.resume), .run])
    case (.resume, .queueing): (.queueing, [.fire(.resume)])
    case (.resume, .progress): (.running, [.fire(.resume)])
    case (.complete, .running), (.complete, .progress), (.complete, .resuming): (.completing, [])
    case (.succeed, .completing): (.success, [.fire(.progress), .fire(.success)])
    case (.cancel, .success), (.cancel, .failed), (.cancel, .cancelled), (.cancel, .completing),
      (.cancel, .failing):
      nil
    case (.cancel, _): (.cancelled, [.fire(.failure), .cleanUp])
    case (.fail, .success), (.fail, .failed), (.fail, .cancelled): nil
    case (.fail, _): (.failed, (hasStarted ? [.fire(.progress)] : []) + [.fire(.failure)])
    default: nil
    }
  }

  /// Whether a worker may continue.
  var isRunning: Bool {
    switch state {
    case .queueing, .running, .resuming, .progress: true
    default: false
    }
  }

  package var isOver: Bool {
    switch state {
    case .success, .failed, .cancelled: true
    default: false
    }
  }
}

extension TransferMachine.State {
  /// The status in the API.
  var status: StorageTaskStatus {
    switch self {
    case .unknown: .unknown
    case .queueing, .running, .resuming: .resume
    case .progress: .progress
    case .pausing, .paused: .pause
    case .completing, .success: .success
    case .failing, .failed, .cancelled: .failure
    }
  }

  /// Whether a new observer for `status` is notified at once.
  func matches(_ status: StorageTaskStatus) -> Bool {
    switch status {
    case .pause: self == .pausing || self == .paused
    case .resume: self == .resuming || self == .running
    case .progress: self == .running || self == .progress
    case .success: self == .success
    case .failure: self == .failed || self == .failing || self == .cancelled
    case .unknown: false
    }
  }
}
