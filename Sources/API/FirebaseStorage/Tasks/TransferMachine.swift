// The state machine of a transfer, as a value type. It maps a state and an event to effects, and uses no
// clock, thread or I/O.

package struct TransferMachine: Sendable {
  package enum State: Sendable, CaseIterable {
    case unknown, queueing, running, resuming, progress, pausing, paused
    case completing, success, failing, failed, cancelled
  }

  package enum Event: Sendable, CaseIterable {
    case enqueue
    /// A worker has started, and there are bytes to transfer.
    case start
    /// More bytes were transferred.
    case progress
    case pause
    /// The worker has stopped because of a pause.
    case stop
    case resume
    case cancel
    /// All bytes are transferred. After this event, the transfer cannot be paused or cancelled.
    case complete
    case succeed
    case fail
  }

  package enum Effect: Sendable, Equatable {
    /// Start a run of the worker. The new run supersedes the previous run.
    case run
    case fire(StorageTaskStatus)
    /// Remove all transferred bytes.
    case cleanUp
  }

  /// Whether a pause takes effect immediately. True for uploads, because their staged parts are kept. False
  /// for downloads, which are paused only when their worker has stopped.
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
  /// The status that the API reports for this state.
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

  /// Whether a new observer for `status` is notified immediately.
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
