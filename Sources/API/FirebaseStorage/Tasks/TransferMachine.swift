// What a transfer does next, as a value: (state, event) -> effects. No clock, no thread, no input or output.

package struct TransferMachine: Sendable {
  package enum State: Sendable, CaseIterable {
    case unknown, queueing, running, resuming, progress, pausing, paused
    case completing, success, failing, failed, cancelled
  }

  package enum Event: Sendable, CaseIterable {
    case enqueue
    /// A worker has begun: there is something to transfer.
    case start
    /// Some more was transferred.
    case progress
    case pause
    /// The worker has noticed that it is to pause.
    case stop
    case resume
    case cancel
    /// All is transferred, and from here on nothing ends it but its outcome.
    case complete
    case succeed
    case fail
  }

  package enum Effect: Sendable, Equatable {
    /// A worker is to run; what another one still does is superseded.
    case run
    case fire(StorageTaskStatus)
    /// Nothing is to be left of it.
    case cleanUp
  }

  /// An upload pauses at once, as what is staged stays; a download when its worker has stopped.
  let pausesAtOnce: Bool
  package private(set) var state = State.unknown
  private var hasStarted = false

  package init(pausesAtOnce: Bool) { self.pausesAtOnce = pausesAtOnce }

  /// Nil if the event means nothing in this state.
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

  /// A worker may go on.
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
  /// As the API shows it.
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

  /// Whether an observer that comes now is told at once.
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
