// Runs a state machine on a scheduler: feeds it one event at a time, performs its effects and keeps its
// timers.
//
//   1. the owner passes an event, on the scheduler
//   2. the machine returns effects, and the owner performs them in order
//   3. an effect that completes immediately has an answer; the machine handles these answers, in order,
//      before any other event

/// A state machine that implements a communication protocol. It has no clock, thread, lock or connection.
package protocol StateMachine: SendableMetatype {
  associatedtype Event: Sendable
  associatedtype Effect
  associatedtype Failure: Error

  mutating func handle(_ event: Event) throws(Failure) -> [Effect]
}

package final class MachineDriver<Machine: StateMachine, Timer: Hashable & Sendable>: @unchecked Sendable {
  // The conformance is unchecked, because all mutable state is only accessed on the scheduler, which is
  // serial.
  package typealias Performer = (Machine.Effect) -> Machine.Event?

  package let scheduler: any SyncScheduler
  package private(set) var machine: Machine
  ///  For each running timer, the sequence number of its latest start.
  private var timers: [Timer: Int] = [:]
  private var lastStart = 0

  package init(_ machine: Machine, _ scheduler: any SyncScheduler) {
    self.machine = machine
    self.scheduler = scheduler
  }

  /// Handles an event, and then the answers of the effects that complete immediately.
  package func handle(_ event: Machine.Event, _ perform: Performer) throws(Machine.Failure) {
    try self.perform(try machine.handle(event), perform)
  }

  /// Performs effects, and handles the answers of those effects that complete immediately.
  package func perform(_ effects: [Machine.Effect], _ perform: Performer) throws(Machine.Failure) {
    var answers = effects.compactMap(perform)
    var next = 0
    while next < answers.count {
      answers += try machine.handle(answers[next]).compactMap(perform)
      next += 1
    }
  }

  // MARK: Timers

  package func isRunning(_ timer: Timer) -> Bool { timers[timer] != nil }

  /// Calls `fire` on the scheduler after this time, unless the timer is stopped or started again before.
  package func start(
    _ timer: Timer, after microseconds: Int64, _ fire: @escaping @Sendable () -> Void
  ) {
    lastStart += 1
    let start = lastStart
    timers[timer] = start
    scheduler.run(after: microseconds) { [weak self] in
      guard let self, timers[timer] == start else { return }
      timers[timer] = nil
      fire()
    }
  }

  package func stop(_ timer: Timer) { timers[timer] = nil }

  package func stopTimers() { timers = [:] }
}
