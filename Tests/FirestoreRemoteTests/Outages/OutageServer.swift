// A server of one document, whose sessions are those of the real server.

#if Server
import DocumentStore
import FirestoreService
import FirestoreWire
import HTTPClient
import Harness
import OfflineSync

/// The document and its version survive the process of the server.
final class OutageServer {
  static let database = DatabaseName(projectID: "shop", databaseID: "(default)")
  static let document = DocumentPath("rooms/a")

  private let scheduler: VirtualScheduler
  private var server = SimulatedServer()
  /// The targets of each session that have the document, and the number of messages that its call has taken.
  private var targets: [String: [TargetID]] = [:]
  private var takenCounts: [String: Int] = [:]
  /// The number in the document.
  private(set) var number: Int64 = 0
  private var version: SnapshotVersion

  init(on scheduler: VirtualScheduler) {
    self.scheduler = scheduler
    version = SnapshotVersion(microseconds: scheduler.now())
  }

  private var now: UInt64 { UInt64(scheduler.now()) * 1000 }

  func restart() {
    server.restart()
    (targets, takenCounts) = ([:], [:])
  }

  /// Gives the document its next number.
  func change() {
    number += 1
    version = SnapshotVersion(microseconds: max(scheduler.now(), version.microseconds + 1))
  }

  /// Sends the document to all targets.
  func sendDocument() -> [SimulatedServer.Effect] {
    targets.sorted { $0.key < $1.key }.flatMap { id, ids in
      ids.isEmpty ? [] : deliver([present(in: ids), snapshot], to: id)
    }
  }

  // MARK: Requests

  func take(_ request: UInt64, _ content: WebRequest) -> [SimulatedServer.Effect] {
    let effects = server.take(
      request, method: content.method, target: content.target, body: content.body ?? [], at: now)
    return effects + answers()
  }

  func lose(_ request: UInt64) -> [SimulatedServer.Effect] { server.lose(request, at: now) }
  func noteRead(_ request: UInt64) -> [SimulatedServer.Effect] { server.noteRead(request, at: now) }
  func passTime() -> [SimulatedServer.Effect] { server.passTime(to: now) }

  // MARK: Calls

  private func answers() -> [SimulatedServer.Effect] {
    var effects: [SimulatedServer.Effect] = []
    for (id, session) in server.sessions.sorted(by: { $0.key < $1.key }) {
      for message in session.received.dropFirst(takenCounts[id] ?? 0) {
        effects += answer(message, in: id)
      }
      takenCounts[id] = session.received.count
    }
    return effects
  }

  private func answer(_ message: [UInt8], in id: String) -> [SimulatedServer.Effect] {
    switch (try? Wire.ListenRequest(json: message))?.targetChange {
    case .addTarget(let wire):
      let target = TargetID(wire.targetId)
      let added = WatchChange.target(.added, [target])
      let current = WatchChange.target(.current, [target], resumeToken: [1])
      var messages: [Message] = [(added, .none)]
      let scope = (try? Self.database.target(wire))?.target.query.scope
      if scope?.contains(Self.document) == true {
        targets[id, default: []].append(target)
        messages.append(present(in: [target]))
      }
      return deliver(messages + [(current, .none), snapshot], to: id)
    case .removeTarget(let number):
      targets[id]?.removeAll { $0.value == number }
      return deliver([(.target(.removed, [TargetID(number)]), .none)], to: id)
    case nil: return []
    }
  }

  private typealias Message = (change: WatchChange, version: SnapshotVersion)

  private func present(in ids: [TargetID]) -> Message {
    let document = RemoteDocument(
      Self.document, StoredMap([(name: "n", value: .integer(number))]), version: version)
    return (.document(Self.document, document, updated: ids, removed: []), .none)
  }

  private var snapshot: Message { (.target(.noChange, [], resumeToken: [1]), version) }

  private func deliver(_ messages: [Message], to id: String) -> [SimulatedServer.Effect] {
    messages.flatMap { message in
      let wire = Self.database.wire(message.change, message.version)
      return (try? wire.json()).map { server.deliver(.message($0), to: id, at: now) } ?? []
    }
  }
}
#endif
