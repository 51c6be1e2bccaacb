// A listener over sessions of WebChannel, which shows what its targets have.

#if Server
package import DocumentStore
package import FirestoreWire
package import Harness
import OfflineSync

/// Watches targets on one session after the other, as a page does that comes back. Used on the loop.
package final class ChannelWatcher {
  private static let comeBackMilliseconds = 20

  private let database: DatabaseName
  private let makeClient: () -> WebChannelClient
  private var memory = ClientMemory()
  private var watch: WatchState
  /// The present session.
  package private(set) var client: WebChannelClient
  private var ended: [WebChannelClient] = []
  private var current: [TargetID] = []
  private var isEnding = false
  private var isAbandoned = false
  /// Whether the server may end sessions.
  var mayLoseSessions = false
  package private(set) var snapshots = 0
  package private(set) var resumes = 0
  package private(set) var violation: String?

  /// `makeClient` makes the client of each session.
  package init(
    _ database: DatabaseName, _ subjects: [ModelTarget.Subject], makeClient: @escaping () -> WebChannelClient
  ) {
    self.database = database
    self.makeClient = makeClient
    watch = WatchState(documentsName: database.documentsName)
    client = makeClient()
    for subject in subjects {
      memory.lastID += 2
      let id = TargetID(memory.lastID)
      memory.targets[id] = ModelTarget(id: id, subject: subject)
    }
  }

  /// Opens a session, and adds all targets with their tokens.
  package func begin() {
    client.onMessage = { [unowned self] in receive($0) }
    client.onEnd = { [unowned self] in end($0) }
    client.open(memory.targets.keys.sorted().compactMap { addition(of: $0, .listen) })
  }

  /// Ends the session, and goes on in another one.
  package func comeBack() {
    guard !isEnding, !isAbandoned, violation == nil else { return }
    leave()
    resumes += 1
    watch = WatchState(documentsName: database.documentsName)
    current = []
    client = makeClient()
    begin()
  }

  private func leave() {
    (client.onMessage, client.onEnd) = (nil, nil)
    client.terminate()
    ended.append(client)
  }

  package func finish() {
    isEnding = true
    leave()
  }

  /// Whether the server has confirmed the end of all sessions that this client knows.
  package var isOver: Bool { ended.allSatisfy { $0.session == nil || $0.isTerminationAnswered } }

  /// Releases the connections. The server is not told.
  package func abandon() {
    isAbandoned = true
    for client in ended + [client] { client.abandon() }
  }

  /// All sessions so far.
  package var clients: [WebChannelClient] { isEnding ? ended : ended + [client] }

  /// Compares what all targets show with the documents of the database.
  package func difference(from documents: [StoredDocument]) -> String? {
    if let violation { return violation }
    guard current.count == memory.targets.count else {
      return "\(current.count) of \(memory.targets.count) targets are current"
    }
    for target in memory.targets.values.sorted(by: { $0.id < $1.id }) {
      if let text = memory.difference(of: target, from: documents, floor: .none) {
        return "target \(target.description): \(text)"
      }
    }
    return nil
  }

  /// The number of documents in all targets, after the last snapshot in which all were current.
  package var documentCount: Int? {
    current.count == memory.targets.count ? memory.targets.values.reduce(0) { $0 + $1.keys.count } : nil
  }

  // MARK: Messages

  private func receive(_ message: [UInt8]) {
    do {
      let response = try Wire.ListenResponse(json: message)
      guard let (change, version) = try database.change(response) else { return }
      switch try watch.take(change, version, memory) {
      case .nothing: break
      case .snapshot(let version, _):
        snapshots += 1
        current = watch.keep(version, in: &memory)
      case .mismatch(let id, let purpose):
        watch.noteUnwatch(id)
        send(.removeTarget(id.value), [:])
        memory.targets[id]?.token = []
        if let message = addition(of: id, purpose) { client.send(message) }
      case .refused(let id, let error): throw Violation("\(id) is refused: \(error)")
      }
    } catch {
      fail("\(error)")
    }
  }

  private func addition(of id: TargetID, _ purpose: WatchTarget.Purpose) -> [UInt8]? {
    guard let target = memory.targets[id] else { return nil }
    var request = target.request
    request.purpose = purpose
    request.resumeToken = target.token
    let isResumed = !request.resumeToken.isEmpty
    if isResumed { request.expectedCount = target.keys.count }
    watch.noteWatch(request, isResumed: isResumed, mayBeRefused: false)
    guard let (wire, labels) = try? database.wire(TargetRequest(request)) else { return nil }
    return message(.addTarget(wire), labels)
  }

  private func send(_ change: Wire.ListenRequest.TargetChange, _ labels: Wire.Labels) {
    if let message = message(change, labels) { client.send(message) }
  }

  private func message(_ change: Wire.ListenRequest.TargetChange, _ labels: Wire.Labels) -> [UInt8]? {
    var request = Wire.ListenRequest()
    request.database = database.text
    request.targetChange = change
    request.labels = labels
    return try? request.json()
  }

  private func end(_ end: ChannelClientEnd) {
    guard !isEnding else { return }
    guard mayLoseSessions, end.isOfRestart else { return fail("\(end)") }
    let lost = client
    lost.loop.after(milliseconds: Self.comeBackMilliseconds) { [weak self] in
      if let self, client === lost { comeBack() }
    }
  }

  private func fail(_ text: String) {
    violation = violation ?? "listener: \(text)"
    client.abandon()
  }
}
#endif
