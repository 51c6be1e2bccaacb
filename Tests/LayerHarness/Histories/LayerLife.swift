// A process that writes through the layer and may be killed at any time. It has one client without a remote,
// or two clients of one authority that go offline and online.
//
// In the end, every acknowledged write must be present. A write that was in progress when the process was
// killed must be present completely or not at all. Links and counts must agree. The folder contains all data:
// the authority's store in `authority`, and the clients' stores with their outboxes.

import Authority
import DocumentStore
import FirebaseFirestore
package import Foundation
import Harness
import OfflineSync
import Pring

package enum LayerLife {
  /// The outcome of a step.
  package enum Outcome: UInt8, Sendable {
    case done = 0x64
    /// The step had no effect, or it needed the authority and could not reach it.
    case skipped = 0x73
  }

  /// A step, and whether the client toggles between online and offline before the step.
  package struct Turn: Sendable {
    var client: Int
    var changesNetwork: Bool
    package var step: LayerStep
  }

  private static let clientCount = 2
  /// The number of the client that reads the final state.
  private static let observer = 9

  /// Returns the turns that a process with this seed performs. The turns do not depend on the outcomes of
  /// earlier turns.
  package static func turns(_ seed: UInt64, hasRemote: Bool, count: Int = 1000) -> [Turn] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in
      let client = hasRemote ? random.below(clientCount) : 0
      return Turn(
        client: client, changesNetwork: hasRemote && random.oneIn(12),
        step: .random(&random, client: client))
    }
  }

  /// Opens the stores in the folder and performs all turns. Calls `began` when all stores are open, and
  /// `ended` after each turn.
  package static func live(
    in folder: URL, hasRemote: Bool, _ turns: [Turn], began: () -> Void = {}, ended: (Outcome) -> Void
  ) async throws {
    let (authority, remote) = try open(folder, hasRemote)
    let stores = stores(folder, remote)
    try await LayerDatabase.$current.withValue(stores[0]) {
      if try await LayerRoom.get("0") == nil { try await LayerClient.makeRooms() }
    }
    try await stores[0].waitForPendingWrites()
    var clients: [LayerClient] = []
    for store in stores {
      clients.append(try await LayerDatabase.$current.withValue(store) { try await LayerClient(store) })
    }
    var isOnline = Array(repeating: true, count: stores.count)
    began()
    for turn in turns {
      let store = stores[turn.client]
      if turn.changesNetwork {
        isOnline[turn.client].toggle()
        if isOnline[turn.client] { try await store.enableNetwork() } else { try await store.disableNetwork() }
      }
      let client = clients[turn.client]
      do {
        let isDone = try await LayerDatabase.$current.withValue(store) { try await client.perform(turn.step) }
        ended(isDone ? .done : .skipped)
      } catch  where turn.step.isTransaction && hasRemote {
        ended(.skipped)
      }
    }
    for store in stores { await LayerStore.close(store) }
    try authority?.close()
  }

  /// Sends the pending writes in all outboxes, then reads the whole state of the database.
  package static func look(in folder: URL, hasRemote: Bool) async throws -> LayerModel {
    let (authority, remote) = try open(folder, hasRemote)
    var stores = stores(folder, remote)
    for store in stores where hasRemote {
      try await store.enableNetwork()
      try await store.waitForPendingWrites()
    }
    if let remote { stores.append(LayerStore.open(observer, named: name(folder), in: folder, remote)) }
    let found = try await LayerDatabase.$current.withValue(stores.last) { try await LayerClient.read() }
    for store in stores { await LayerStore.close(store) }
    try authority?.close()
    return found
  }

  private static func name(_ folder: URL) -> String { "life-\(folder.lastPathComponent)" }

  private static func stores(_ folder: URL, _ remote: LoopbackRemote?) -> [Firestore] {
    (0..<(remote == nil ? 1 : clientCount)).map {
      LayerStore.open($0, named: name(folder), in: folder, remote)
    }
  }

  private static func open(_ folder: URL, _ hasRemote: Bool) throws -> (DocumentStore?, LoopbackRemote?) {
    guard hasRemote else { return (nil, nil) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let authority = try DocumentStore.open(folder.appendingPathComponent("authority").path)
    return (authority, try LoopbackRemote(authority: authority))
  }
}
