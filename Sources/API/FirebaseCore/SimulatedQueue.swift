// Dispatch queues whose blocks a simulation runs.
//
// A queue that belongs to a simulation passes its blocks to it. All other queues run their blocks themselves.
// The code that uses a queue does not see the difference, as long as it uses `submit` and `perform`.

package import Dispatch
package import OfflineSync
private import Synchronization

package enum SimulatedQueues {
  fileprivate static let key = DispatchSpecificKey<any Simulation>()
  fileprivate static let isAny = Atomic(false)

  /// Whether the process has created a simulated queue. Without one, no queue is asked.
  package static var exist: Bool { isAny.load(ordering: .relaxed) }
}

extension DispatchQueue {
  /// Creates a serial queue, which belongs to a simulation if there is one.
  package static func serial(
    _ label: String, target: DispatchQueue? = nil, in simulation: (any Simulation)?
  ) -> DispatchQueue {
    let queue = DispatchQueue(label: label, target: target)
    guard let simulation else { return queue }
    SimulatedQueues.isAny.store(true, ordering: .relaxed)
    queue.setSpecific(key: SimulatedQueues.key, value: simulation)
    return queue
  }

  /// The simulation that this queue belongs to; nil outside a simulation.
  package var simulation: (any Simulation)? {
    guard SimulatedQueues.exist else { return nil }
    return getSpecific(key: SimulatedQueues.key)
  }

  /// Runs `body` on this queue, like `async(execute:)`.
  package func submit(_ body: @escaping @Sendable () -> Void) {
    if let simulation { simulation.run(body) } else { async(execute: body) }
  }

  /// Runs `body` on this queue and waits for it, like `sync(execute:)`.
  package func perform(_ body: () -> Void) {
    if let simulation { simulation.perform(body) } else { sync(execute: body) }
  }
}
