// A model client: an independent reader of the watch protocol, with what it keeps when its process ends.

import Authority
import DocumentStore
import OfflineSync

struct ModelClient {
  /// The token that a request carries.
  enum Token {
    case none
    /// The token of the last snapshot.
    case own
    /// Only the time of the last snapshot.
    case readTime
    /// A token that the authority must not follow. It may also refuse the request.
    case forged([UInt8])
  }

  let number: Int
  var user: String?
  var memory = ClientMemory()
  private var stream: Stream?
  /// The number of targets that were asked for again because of an existence filter.
  private(set) var mismatches = 0
  private(set) var snapshots = 0
  private(set) var comparisons = 0

  private struct Stream {
    var line: StreamLine
    var session: WatchSession
    var state: WatchState
  }

  init(_ number: Int, user: String?) {
    self.number = number
    self.user = user
  }

  var isConnected: Bool { stream != nil }
  var waitingMessages: Int { stream?.line.messageCount ?? 0 }

  /// The targets that are requested on the current stream.
  var watched: [TargetID] { memory.targets.keys.filter(isWatched).sorted() }

  /// The targets that the client knows and has not requested on the current stream.
  var unwatched: [TargetID] { memory.targets.keys.filter { !isWatched($0) }.sorted() }

  private func isWatched(_ id: TargetID) -> Bool { stream?.state.targets[id]?.isWanted ?? false }

  // MARK: Connections

  mutating func connect(to host: AuthorityHost) {
    // In a new life, the authority tells every state of the documents as newer than those that were lost.
    if memory.lostUnnoticedIn != host.floor ?? SnapshotVersion.none { memory.lostUnnoticedIn = nil }
    let line = StreamLine()
    let session = host.openSession(as: user, line)
    stream = Stream(line: line, session: session, state: WatchState(documentsName: host.documentsName))
  }

  /// Ends the stream. Everything that is on its way is lost.
  mutating func disconnect() throws {
    guard let stream else { return }
    self.stream = nil
    stream.line.close()
    stream.session.close()
    let late = stream.line.drain()
    guard late == 0 else { throw Violation("client \(number): \(late) messages came after the close") }
  }

  // MARK: Requests

  mutating func add(_ subject: ModelTarget.Subject) -> TargetID {
    memory.lastID += 2
    let id = TargetID(memory.lastID)
    memory.targets[id] = ModelTarget(id: id, subject: subject)
    return id
  }

  mutating func watch(
    _ id: TargetID, _ token: Token, sendsCount: Bool, purpose: WatchTarget.Purpose = .listen,
    mayBeRefused: Bool
  ) {
    guard let target = memory.targets[id] else { return }
    var request = target.request
    request.purpose = purpose
    var mayBeRefused = mayBeRefused
    switch token {
    case .none: break
    case .own: request.resumeToken = target.token
    case .readTime: request.readTime = target.version
    case .forged(let bytes):
      request.resumeToken = bytes
      mayBeRefused = true
    }
    let isResumed = !request.resumeToken.isEmpty || request.readTime != .none
    if isResumed, sendsCount || target.hasLostKeys { request.expectedCount = target.keys.count }
    stream?.state.noteWatch(request, isResumed: isResumed, mayBeRefused: mayBeRefused)
    stream?.session.watch(request)
  }

  mutating func unwatch(_ id: TargetID) {
    stream?.state.noteUnwatch(id)
    stream?.session.unwatch(id)
  }

  /// Asks for the newest time.
  func advance() { stream?.session.advance() }

  func runJob() -> Bool { stream?.line.runJob() ?? false }

  var hasJobs: Bool { stream?.line.hasJobs ?? false }

  // MARK: Messages

  /// Takes the next message. Returns a description of it, or nil if none has arrived.
  mutating func receive(_ truth: AuthorityTruth) throws -> String? {
    guard let message = stream?.line.takeMessage() else {
      guard let end = stream?.line.end else { return nil }
      try disconnect()
      return "client \(number): the authority ends the stream: \(end)"
    }
    let text = "client \(number) receives \(message.text)"
    do {
      guard let event = try stream?.state.take(message.change, message.version, memory) else { return nil }
      switch event {
      case .nothing: break
      case .refused(let id, _):
        memory.targets[id] = nil
      case .mismatch(let id, let purpose):
        mismatches += 1
        unwatch(id)
        watch(id, .none, sendsCount: false, purpose: purpose, mayBeRefused: false)
      case .snapshot(let version, let left):
        try take(version, left: left, truth, message.floor)
      }
    } catch {
      throw Violation("\(text): \(error)")
    }
    return text
  }

  private mutating func take(
    _ version: SnapshotVersion, left: [TargetID: Set<DocumentPath>], _ truth: AuthorityTruth,
    _ floor: SnapshotVersion
  ) throws {
    guard version >= memory.version || memory.lostUnnoticedIn != nil else {
      throw Violation(
        "the read time \(version.microseconds) is before that of the client, \(memory.version.microseconds)")
    }
    snapshots += 1
    let complete = stream?.state.keep(version, in: &memory) ?? []
    if memory.lostUnnoticedIn != nil { return }
    let documents = truth.documents(at: version)
    for id in complete {
      guard let target = memory.targets[id] else { continue }
      comparisons += 1
      if let difference = memory.difference(of: target, from: documents, floor: floor) {
        throw Violation("target \(target.description): \(difference)")
      }
    }
    // A document that left because of a limit may have changed since, outside the target.
    for (id, paths) in left where memory.targets[id]?.hasLimit == false {
      for path in paths { try requireSame(path, documents) }
    }
  }

  /// A document that left a target without its content must be as the client knows it.
  private func requireSame(_ path: DocumentPath, _ documents: [StoredDocument]) throws {
    guard let known = memory.documents[path], let fields = known.fields else { return }
    let document = documents.first { $0.path == path }
    guard document?.fields == fields else {
      let found = document.map { "\($0.fields.text) of \($0.updateTime.microseconds)" } ?? "absent"
      throw Violation(
        "\(path) left without its content. The client has \(fields.text) of \(known.version.microseconds), "
          + "and the authority has \(found)")
    }
  }

  /// The targets that are requested, but not current.
  var incomplete: [TargetID] {
    stream?.state.targets.filter { !$0.value.isActive || !$0.value.isCurrent }.keys.sorted() ?? []
  }
}
