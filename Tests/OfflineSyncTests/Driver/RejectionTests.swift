// Rejections that occur before a listener is registered.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct RejectionTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()

  init() throws {
    world = try LoopbackWorld()
    var rules = LoopbackRules()
    rules.mayWrite = { _, _ in RemoteError(.permissionDenied, "no") }
    world.remote.setRules(rules)
  }

  private func write(_ numbers: ClosedRange<Int>, _ client: SyncDriver) {
    for number in numbers {
      client.write([.set(DocumentPath(unchecked: ["rooms", "\(number)"]), StoredMap())], .local) { _ in }
    }
    world.pass()
  }

  private func names(heardBy client: SyncDriver) -> Locked<[String]> {
    let names = Locked<[String]>([])
    _ = client.listenToRejections { result in
      if case .success(let rejection) = result { names.withLock { $0 += rejection.paths.map(\.id) } }
    }
    return names
  }

  @Test func onlyTheFirstListenerReceivesTheLastHundredRejections() throws {
    let client = try world.client(on: disk)
    write(1...120, client)
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    let first = names(heardBy: client)
    world.pass()
    #expect(first.withLock { $0 } == (21...120).map { "\($0)" })
    let second = names(heardBy: client)
    write(121...122, client)
    #expect(first.withLock { $0.count } == 102)
    #expect(second.withLock { $0 } == ["121", "122"])
  }

  /// The listener is first called before any write that is issued after its registration completes.
  @Test func aMissedRejectionIsDeliveredBeforeLaterWritesComplete() throws {
    let client = try world.client(on: disk)
    write(1...1, client)
    let lines = Locked<[String]>([])
    func issue(_ number: Int) {
      client.write([.set(DocumentPath(unchecked: ["rooms", "\(number)"]), StoredMap())], .local) { _ in
        lines.withLock { $0.append("write \(number)") }
      }
    }
    issue(2)
    let id = client.listenToRejections { result in
      if case .success(let rejection) = result {
        lines.withLock { $0 += rejection.paths.map { "rejection \($0.id)" } }
      }
    }
    issue(3)
    world.pass(seconds: 0)
    #expect(lines.withLock { Array($0.prefix(3)) } == ["write 2", "rejection 1", "write 3"])
    client.unlistenToRejections(id)
  }

  @Test func aMissedRejectionIsDeliveredWhenItsUserReturns() throws {
    let client = try world.client(on: disk)
    client.send(.changeUser("ann"))
    write(1...1, client)
    client.send(.changeUser(nil))
    let names = names(heardBy: client)
    world.pass()
    #expect(names.withLock { $0 } == [])
    client.send(.changeUser("ann"))
    world.pass()
    #expect(names.withLock { $0 } == ["1"])
  }

  @Test func aRejectionWithoutListenersGoesToTheNextListener() throws {
    let client = try world.client(on: disk)
    let id = client.listenToRejections { _ in }
    write(1...1, client)
    client.unlistenToRejections(id)
    write(2...3, client)
    let names = names(heardBy: client)
    world.pass()
    #expect(names.withLock { $0 } == ["2", "3"])
  }
}
