// The event queue of a simulated network.

package import HTTPTransport

/// Reports the descriptors that are ready, some of them late, in any order, and some that are not ready.
package final class SimulatedQueue: EventQueue, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a simulation has one thread.

  private struct Registration {
    let number: UInt64
    var reads: Bool
    var writes: Bool
  }

  private unowned let network: SimulatedNetwork
  private let position: Int
  private var registrations: [Int32: Registration] = [:]
  private var isWoken = false

  init(of network: SimulatedNetwork, position: Int) {
    self.network = network
    self.position = position
  }

  /// Whether a wait would end at once.
  var isReady: Bool { isWoken || registrations.contains { ready($0.key, $0.value) != nil } }

  var isEmpty: Bool { registrations.isEmpty }

  func forget(_ descriptor: Int32) { registrations[descriptor] = nil }

  package func add(_ descriptor: Int32, _ number: UInt64, reads: Bool, writes: Bool) -> Bool {
    guard network.descriptors[descriptor] != nil, registrations[descriptor] == nil else {
      network.violate("the descriptor \(descriptor) is not open or was added twice")
      return false
    }
    var isLink = false
    if case .link = network.descriptors[descriptor] { isLink = true }
    network.noteProgress()
    if isLink, network.strikes(network.faults.queueFull) { return false }
    network.note(.add, descriptor, Int(number))
    registrations[descriptor] = Registration(number: number, reads: reads, writes: writes)
    return true
  }

  package func change(_ descriptor: Int32, _ number: UInt64, reads: Bool, writes: Bool) {
    guard registrations[descriptor]?.number == number else {
      return network.violate("a change of the descriptor \(descriptor), which was not added")
    }
    network.noteProgress()
    network.note(.change, descriptor, (reads ? 1 : 0) + (writes ? 2 : 0))
    registrations[descriptor]?.reads = reads
    registrations[descriptor]?.writes = writes
  }

  package func wake() {
    network.note(.wake, -1, position)
    isWoken = true
  }

  package func wait(milliseconds: Int32, _ body: (ReadyDescriptor) -> Void) {
    network.note(.wait, Int32(position), Int(milliseconds))
    if isWoken { network.noteProgress() }
    isWoken = false
    let events = readyEvents()
    for (descriptor, event) in events {
      network.note(
        .ready, descriptor,
        (event.canRead ? 1 : 0) + (event.canWrite ? 2 : 0) + (event.hasFailed ? 4 : 0))
      body(event)
    }
  }

  private func readyEvents() -> [(Int32, ReadyDescriptor)] {
    var events: [(Int32, ReadyDescriptor)] = []
    for descriptor in registrations.keys.sorted() {
      guard let registration = registrations[descriptor] else { continue }
      if let event = ready(descriptor, registration) {
        guard !network.strikes(network.faults.late) else {
          network.noteProgress()
          continue
        }
        events.append((descriptor, event))
      } else if network.strikes(network.faults.spurious) {
        network.noteProgress()
        events.append(
          (
            descriptor,
            ReadyDescriptor(
              number: registration.number, canRead: registration.reads, canWrite: registration.writes,
              hasFailed: false)
          ))
      }
    }
    events.shuffle(using: &network.random)
    return events
  }

  private func ready(_ descriptor: Int32, _ registration: Registration) -> ReadyDescriptor? {
    var event = ReadyDescriptor(
      number: registration.number, canRead: false, canWrite: false, hasFailed: false)
    switch network.descriptors[descriptor] {
    case .listener: event.canRead = registration.reads && !network.backlog.isEmpty
    case .link(let link):
      event.canRead = registration.reads && link.serverCanRead
      event.canWrite = registration.writes && link.serverCanWrite
      event.hasFailed = link.hasFailedForServer
    case .spare, nil: return nil
    }
    return event.canRead || event.canWrite || event.hasFailed ? event : nil
  }
}

/// Threads for work that may block, which the simulation runs.
final class SimulatedPool: BlockPool, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a simulation has one thread.
  private var blocks: [@Sendable () -> Void] = []

  var isEmpty: Bool { blocks.isEmpty }

  func run(_ block: @escaping @Sendable () -> Void) { blocks.append(block) }

  /// Runs one of the blocks.
  func runOne(_ random: inout SeededRandom) {
    guard !blocks.isEmpty else { return }
    blocks.remove(at: random.below(blocks.count))()
  }
}
