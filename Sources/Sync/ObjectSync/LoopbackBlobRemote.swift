// An object server in this process, for tests and for programs that want to observe the requests to a remote.

internal import ByteStore
internal import DocumentStore
import ObjectStore
import OfflineSync

/// An object server in memory, with fault injection. Usable from any thread.
public final class LoopbackBlobRemote: BlobRemote {
  private struct Key: Hashable {
    var bucket: String
    var name: String

    // Compared by bytes, because canonically equivalent Unicode names are different objects.
    static func == (left: Self, right: Self) -> Bool {
      left.bucket.isSameUTF8(as: right.bucket) && left.name.isSameUTF8(as: right.name)
    }

    func hash(into hasher: inout Hasher) { [bucket, name].hashUTF8(into: &hasher) }
  }

  private struct State {
    var objects: [Key: (object: RemoteObject, content: [UInt8])] = [:]
    var sessions: [String: [UInt8]] = [:]
    /// The results of finished sessions; a second `finish` returns the stored result.
    var finished: [String: RemoteObject] = [:]
    var lastGeneration: Int64 = 0
    var isReachable = true
    /// The number of calls served before the connection breaks; nil for no limit.
    var callsLeft: Int?
    /// Whether only the answer is lost when the connection breaks: the server then still executes the call.
    var losesAnswer = false
    var bytesReceived: UInt64 = 0
    var bytesSent: UInt64 = 0
    /// The errors for changes of objects with these names.
    var refusals: [String: BlobRemoteError] = [:]
    /// Reads of objects with these names fail from this offset on.
    var stalls: [String: UInt64] = [:]
  }

  private let state = Locked(State())
  /// Whether generations are wall-clock microseconds; otherwise they are counted.
  private let usesClockGenerations: Bool

  /// Creates an empty, reachable server. Generations are microseconds since 1970, as in a bucket without
  /// a remote, so that an object's generation does not decrease when the remote answers.
  public init() { usesClockGenerations = true }

  /// Creates a server whose generations count up by one, starting after `generation`.
  package init(countingFrom generation: Int64) {
    usesClockGenerations = false
    state.withLock { $0.lastGeneration = generation }
  }

  /// Whether calls reach the server.
  public var isReachable: Bool {
    get { state.withLock { $0.isReachable } }
    set {
      state.withLock {
        $0.isReachable = newValue
        $0.callsLeft = nil
      }
    }
  }

  /// Breaks the connection after this many calls. The call during which it breaks is not executed; with
  /// `losingAnswer`, it is executed and its answer is lost.
  public func disconnect(afterCalls count: Int, losingAnswer: Bool = false) {
    state.withLock {
      $0.callsLeft = count
      $0.losesAnswer = losingAnswer
    }
  }

  /// Rejects changes of objects with this name from now on.
  public func reject(name: String) {
    refuse(name: name, with: .rejected("Changes of \(name) are not accepted."))
  }

  /// Refuses changes of objects with this name from now on, with the given error.
  public func refuse(name: String, with reason: BlobRemoteError) {
    state.withLock { $0.refusals[name] = reason }
  }

  /// Makes reads of this name fail as `unavailable` from the offset on. A nil offset ends the failures.
  package func stall(name: String, from offset: UInt64?) { state.withLock { $0.stalls[name] = offset } }

  /// The total number of uploaded bytes; bytes that were sent twice count twice.
  public var bytesReceived: UInt64 { state.withLock { $0.bytesReceived } }

  /// The total number of content bytes that were read; bytes that were read twice count twice.
  package var bytesSent: UInt64 { state.withLock { $0.bytesSent } }

  /// Returns the content stored under this name; nil if there is none.
  public func content(bucket: String, name: String) -> [UInt8]? {
    state.withLock { $0.objects[Key(bucket: bucket, name: name)]?.content }
  }

  /// The number of upload sessions that are not finished.
  public var openSessions: Int { state.withLock { $0.sessions.count } }

  /// The ids of the upload sessions that are not finished.
  package var openSessionIDs: Set<String> { state.withLock { Set($0.sessions.keys) } }

  // MARK: The server

  private static var now: StoredTimestamp? {
    StoredTimestamp(microseconds: SystemClock().wallMicroseconds())
  }

  private func serve<Value: Sendable>(
    _ body: (inout State) throws(BlobRemoteError) -> Value
  ) throws(BlobRemoteError) -> Value {
    try state.withLock { state throws(BlobRemoteError) -> Value in
      if let left = state.callsLeft {
        if left == 0, state.isReachable {
          state.isReachable = false
          if state.losesAnswer { _ = try? body(&state) }
        }
        state.callsLeft = max(0, left - 1)
      }
      guard state.isReachable else { throw .unavailable("The loopback remote was disconnected.") }
      return try body(&state)
    }
  }

  public func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64 {
    try serve { state throws(BlobRemoteError) in
      if let done = state.finished[id] { return done.byteCount }
      return UInt64(state.sessions[id, default: []].count)
    }
  }

  public func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError) {
    try serve { state throws(BlobRemoteError) in
      let end = UInt64(state.sessions[id, default: []].count)
      guard offset == end else { throw .wrongOffset(end) }
      state.sessions[id, default: []] += bytes
      state.bytesReceived += UInt64(bytes.count)
    }
  }

  public func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    try serve { state throws(BlobRemoteError) in
      if let done = state.finished[id] { return done }
      try Self.check(object.name, state)
      let content = state.sessions[id] ?? []
      guard UInt64(content.count) == object.byteCount else { throw .wrongOffset(UInt64(content.count)) }
      state.sessions[id] = nil
      let time = usesClockGenerations ? Self.now?.microseconds ?? 0 : 0
      state.lastGeneration = max(state.lastGeneration + 1, time)
      var stored = object
      stored.generation = state.lastGeneration
      stored.metageneration = 1
      (stored.created, stored.updated) = (Self.now, Self.now)
      state.objects[Key(bucket: object.bucket, name: object.name)] = (stored, content)
      state.finished[id] = stored
      return stored
    }
  }

  public func abandon(upload id: String) throws(BlobRemoteError) {
    try serve { state throws(BlobRemoteError) in state.sessions[id] = nil }
  }

  public func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject {
    try serve { state throws(BlobRemoteError) in
      guard let found = state.objects[Key(bucket: bucket, name: name)] else { throw .notFound }
      return found.object
    }
  }

  public func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing {
    try serve { state throws(BlobRemoteError) in
      var entries: [String] = []
      for key in state.objects.keys where key.bucket == bucket {
        guard let entry = ObjectEntry.text(of: key.name, below: prefix) else { continue }
        if last?.precedesInUTF8(entry) ?? true { entries.append(entry) }
      }
      let sorted = entries.sortedInUTF8()
      return RemoteListing(Array(sorted.prefix(count)), isLast: sorted.count <= count)
    }
  }

  public func read(
    _ object: RemoteObject, from offset: UInt64, count: Int
  ) throws(BlobRemoteError) -> [UInt8] {
    try serve { state throws(BlobRemoteError) in
      guard let found = state.objects[Key(bucket: object.bucket, name: object.name)],
        found.object.generation == object.generation
      else { throw .notFound }
      if let end = state.stalls[object.name], offset >= end {
        throw .unavailable("The loopback remote returns no more of \(object.name).")
      }
      guard offset < UInt64(found.content.count) else { return [] }
      let start = Int(offset)
      let piece = Array(found.content[start..<min(found.content.count, start + count)])
      state.bytesSent += UInt64(piece.count)
      return piece
    }
  }

  public func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    try serve { state throws(BlobRemoteError) in
      let key = Key(bucket: object.bucket, name: object.name)
      guard let (known, content) = state.objects[key] else { throw .notFound }
      try Self.check(object.name, state)
      var changed = object
      changed.byteCount = known.byteCount
      changed.md5 = known.md5
      changed.downloadTokens = known.downloadTokens
      changed.generation = known.generation
      changed.metageneration = known.metageneration < .max ? known.metageneration + 1 : .max
      (changed.created, changed.updated) = (known.created, Self.now)
      state.objects[key] = (changed, content)
      return changed
    }
  }

  private static func check(_ name: String, _ state: State) throws(BlobRemoteError) {
    if let reason = state.refusals[name] { throw reason }
  }

  public func delete(bucket: String, name: String) throws(BlobRemoteError) {
    try serve { state throws(BlobRemoteError) in
      try Self.check(name, state)
      guard state.objects.removeValue(forKey: Key(bucket: bucket, name: name)) != nil else { throw .notFound }
    }
  }
}
