// A listener that outlives its connections: it keeps documents and resume tokens, and reads each watch stream
// by the rules of Firestore's protocol.

#if Server
import ByteStore
package import DocumentStore
package import FirestoreWire
package import Harness
import OfflineSync

/// Watches targets of one database over any number of connections, one after the other. Usable from any
/// thread.
package final class WatchClient: Sendable {
  private struct State {
    var memory = ClientMemory()
    var stream: OpenStream?
    var current: [TargetID] = []
    var isShown = false
    var lastEnd: GRPCEnd?
    var violation: String?
    var counts = Counts()
  }

  private struct OpenStream {
    var number: Int
    var calls: GRPCStream?
    var watch: WatchState
    /// The targets whose documents are sent as a whole: they were added without a token, or were reset.
    var whole: Set<TargetID>
  }

  /// The number of messages and states that the listener has received.
  package struct Counts: Sendable {
    package var streams = 0
    package var snapshots = 0
    package var documents = 0
    package var resumes = 0
    package var resets = 0
    /// Resets of targets that the server must be able to continue: those without a limit.
    package var needlessResets = 0
    package var mismatches = 0
    /// Documents that were sent again, although the listener had them as they are.
    package var repeated = 0

    package init() {}
  }

  private let database: DatabaseName
  private let state = Locked(State())

  package init(_ database: DatabaseName, _ subjects: [ModelTarget.Subject]) {
    self.database = database
    state.withLock { state in
      for subject in subjects {
        state.memory.lastID += 2
        let id = TargetID(state.memory.lastID)
        state.memory.targets[id] = ModelTarget(id: id, subject: subject)
      }
    }
  }

  // MARK: State

  package var counts: Counts { state.withLock { $0.counts } }
  /// The first violation of the protocol.
  package var violation: String? { state.withLock { $0.violation } }
  /// The end of the last stream; nil while it is open.
  package var lastEnd: GRPCEnd? { state.withLock { $0.lastEnd } }
  package var isConnected: Bool { state.withLock { $0.stream != nil } }

  /// Waits until the stream has ended, or `condition` holds for what the listener shows with all targets
  /// current. Returns false if neither happens in time.
  package func wait(seconds: Double, until condition: (ClientMemory) -> Bool) -> Bool {
    let end = MonotonicTime.nanoseconds + UInt64(seconds * 1e9)
    var holds = false
    while !holds, MonotonicTime.nanoseconds < end {
      let rest = end - min(end, MonotonicTime.nanoseconds)
      state.withLock(wokenBy: changed, within: rest, when: { $0.isShown || $0.violation != nil }) { state in
        state.isShown = false
        if state.violation != nil { return holds = true }
        guard state.stream != nil, state.current.count == state.memory.targets.count else { return }
        holds = condition(state.memory)
      }
    }
    return holds && violation == nil
  }

  /// Waits until the stream has ended.
  package func waitUntilEnded(seconds: Double) -> GRPCEnd? {
    let end = MonotonicTime.nanoseconds + UInt64(seconds * 1e9)
    while MonotonicTime.nanoseconds < end {
      let rest = end - min(end, MonotonicTime.nanoseconds)
      let last = state.withLock(wokenBy: changed, within: rest, when: { $0.lastEnd != nil }) { $0.lastEnd }
      if let last { return last }
    }
    return nil
  }

  private let changed = Signal()

  /// Compares what all targets show with the documents of the database.
  package func difference(from documents: [StoredDocument]) -> String? {
    state.withLock { state in
      for target in state.memory.targets.values.sorted(by: { $0.id < $1.id }) {
        if let text = state.memory.difference(of: target, from: documents, floor: .none) {
          return "target \(target.description): \(text)"
        }
      }
      return nil
    }
  }

  // MARK: Streams

  /// Opens a stream, and adds all targets with their tokens.
  package func connect(_ client: FirestoreClient) {
    let number = state.withLock { state in
      state.counts.streams += 1
      state.lastEnd = nil
      state.current = []
      state.stream = OpenStream(
        number: state.counts.streams, watch: WatchState(documentsName: database.documentsName), whole: [])
      return state.counts.streams
    }
    let calls = client.open("Listen") { [self] bytes in
      receive(bytes, of: number)
    } onEnd: { [self] end in
      self.end(end, of: number)
    }
    state.withLock { state in
      guard state.stream?.number == number else { return }
      state.stream?.calls = calls
      for id in state.memory.targets.keys.sorted() { watch(id, .listen, &state) }
    }
  }

  /// Cancels the stream.
  package func disconnect() {
    let calls = state.withLock { state in
      defer { state.stream = nil }
      return state.stream?.calls
    }
    calls?.cancel()
  }

  private func end(_ end: GRPCEnd, of number: Int) {
    state.withLock { state in
      guard state.stream?.number == number else { return }
      state.stream = nil
      state.lastEnd = end
      state.isShown = true
    }
    changed.wake()
  }

  private func receive(_ bytes: [UInt8], of number: Int) {
    state.withLock { state in
      guard state.stream?.number == number, state.violation == nil else { return }
      do {
        let response: Wire.ListenResponse = try FirestoreClient.message(bytes)
        guard let (change, version) = try database.change(response) else { return }
        note(change, &state)
        guard let event = try state.stream?.watch.take(change, version, state.memory) else { return }
        try act(event, &state)
      } catch {
        state.violation = "\(error)"
      }
    }
    changed.wake()
  }

  private func act(_ event: WatchState.Event, _ state: inout State) throws {
    switch event {
    case .nothing: break
    case .snapshot(let version, _):
      state.counts.snapshots += 1
      state.current = state.stream?.watch.keep(version, in: &state.memory) ?? []
      state.isShown = true
      state.stream?.whole.subtract(state.current)
    case .mismatch(let id, let purpose):
      state.counts.mismatches += 1
      state.stream?.watch.noteUnwatch(id)
      send(.removeTarget(id.value), [:], &state)
      state.memory.targets[id]?.token = []
      watch(id, purpose, &state)
    case .refused(let id, let error): throw Violation("\(id) is refused: \(error)")
    }
  }

  private func watch(_ id: TargetID, _ purpose: WatchTarget.Purpose, _ state: inout State) {
    guard let target = state.memory.targets[id] else { return }
    var request = target.request
    request.purpose = purpose
    request.resumeToken = target.token
    let isResumed = !request.resumeToken.isEmpty
    if isResumed {
      request.expectedCount = target.keys.count
      state.counts.resumes += 1
    } else {
      state.stream?.whole.insert(id)
    }
    state.stream?.watch.noteWatch(request, isResumed: isResumed, mayBeRefused: false)
    do {
      let (target, labels) = try database.wire(TargetRequest(request))
      send(.addTarget(target), labels, &state)
    } catch {
      state.violation = "\(error)"
    }
  }

  private func send(_ change: Wire.ListenRequest.TargetChange, _ labels: Wire.Labels, _ state: inout State) {
    var request = Wire.ListenRequest()
    request.database = database.text
    request.targetChange = change
    request.labels = labels
    if let bytes = try? request.protobuf() { state.stream?.calls?.send(bytes) }
  }

  // MARK: Deltas

  /// Counts what a change brings, before it is applied.
  private func note(_ change: WatchChange, _ state: inout State) {
    switch change {
    case .target(.reset, let ids, _, _):
      let reset = ids.isEmpty ? Array(state.memory.targets.keys) : ids
      state.counts.resets += reset.count
      state.counts.needlessResets += reset.count { state.memory.targets[$0]?.hasLimit == false }
      state.stream?.whole.formUnion(reset)
    case .document(let path, let document?, let updated, _):
      state.counts.documents += 1
      guard let stream = state.stream, let known = state.memory.documents[path] else { return }
      let hasAll = updated.allSatisfy {
        stream.watch.targets[$0]?.keys.contains(path) == true && !stream.whole.contains($0)
      }
      if hasAll, !updated.isEmpty, known.version == document.version, known.fields == document.fields {
        state.counts.repeated += 1
      }
    default: break
    }
  }
}

/// Time that never goes back.
private enum MonotonicTime {
  private static let start = ContinuousClock.now

  /// The time since a fixed time of this process.
  static var nanoseconds: UInt64 {
    let start = start
    return UInt64(max(0, (ContinuousClock.now - start) / .nanoseconds(1)))
  }
}
#endif
