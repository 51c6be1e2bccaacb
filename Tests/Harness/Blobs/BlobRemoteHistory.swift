// A random history of a client and an object server, which must have equal objects at the end.
//
// The history has changes on- and offline, cancellations, sweeps, a connection that breaks, and crashes.
//
// 1. steps    random steps; between the steps, the client does a part of its work
// 2. drain    the connection is restored, no change is held back, and all pending changes are sent; each
//    watcher was called exactly once
// 3. compare  each local object with the object on the remote and with the allowed states: content and
//    attributes; no staged content is left
// 4. sweep    afterwards, a record refers to each file, and the remote has no upload except the abandoned
//    ones
//
// The remote may have executed a change although it was cancelled. An object may therefore have the result of
// the last change that was not cancelled, or the result of a cancelled change that followed.

import ByteStore
import DocumentStore
import ObjectStore
import ObjectSync
import OfflineSync

final class BlobRemoteHistory: @unchecked Sendable {
  // The `Sendable` conformance is unchecked, because a history runs on one thread.

  typealias Kind = BlobRemoteCampaign.Kind

  private static let bucket = "bucket"
  private static let names = ["a", "b", "folder/c"]
  /// The remote rejects all changes of this object.
  private static let refused = "refused"
  /// Only other clients write this object.
  private static let foreign = "foreign"
  /// The number of contents that a history uses. The last of these contents spans two of the remote's pieces.
  private static let contentCount = 6
  private static let timeout: Int64 = 20_000_000

  private struct Change {
    enum Action {
      /// An upload of the content with this number.
      case put(Int)
      case delete
      case update(step: String)
    }

    let action: Action
    /// Nil as long as it is unknown whether the change was queued.
    var number: Int64?
    /// Whether the change was no longer pending when a process started. In this case, a later change may
    /// reuse its number.
    var hasLeftQueue = false
    var cancels = 0
    /// The number of cancellations that certainly came too late.
    var lateCancels = 0

    var hasHappened: Bool { number != nil && cancels == lateCancels }

    init(_ action: Action) { self.action = action }
  }

  private struct Client {
    let store: DocumentStore
    let sync: BlobSync
    let scheduler = VirtualScheduler()

    init(_ disk: SimulatedDisk, _ remote: LoopbackBlobRemote, seed: UInt64) throws {
      store = try DocumentStore.open(
        BlobLife.path, options: BlobLife.options, platform: disk.platform(seed: seed))
      if try !store.objects.outbox.isRemoteMirror() { try store.objects.outbox.becomeRemoteMirror() }
      sync = try BlobSync(store.objects, remote, scheduler: scheduler, seed: seed)
    }
  }

  private let seed: UInt64
  private var random: SeededRandom
  private let remote = LoopbackBlobRemote(countingFrom: 0)
  private var disk = SimulatedDisk()
  private var life: UInt64 = 0
  /// Whether all disk calls fail from some call on, until the process is killed.
  private var hasDiskFault = false
  /// The changes of each name, in order.
  private var changes: [String: [Change]] = [:]
  private var foreignContent: Int?
  private var foreignWrites = 0
  /// Upload sessions that may remain at the remote, because the client could not abandon them.
  private var abandonedSessions: Set<String> = []
  /// Watchers of this process whose completion has not been called.
  private var waiters: Set<Int> = []
  private var lastWaiter = 0
  private var unexpectedCompletions = 0
  /// The remote's byte counter at the last progress call.
  private var bytesSent: UInt64 = 0
  private(set) var counts: [Kind: Int] = [:]
  private(set) var trace: UInt64 = 0

  init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  /// Runs the history. Returns a description of the failure, or nil.
  func run() -> String? {
    do {
      remote.reject(name: Self.refused)
      var client = try open()
      for _ in 0..<20 + random.below(20) {
        do {
          if let problem = try step(&client) { return problem }
          // The client works in small parts, so that the next step meets unfinished work.
          client.scheduler.play(for: random.oneIn(3) ? 30_000_000 : 0, max: random.below(12))
        } catch {
          guard hasDiskFault, disk.counters.faults > 0 else { throw error }
        }
        if hasDiskFault, disk.counters.faults > 0 { try restart(&client, crash()) }
        if let problem = completionProblem { return problem }
      }
      disk.setFault(nil)
      hasDiskFault = false
      return try finalProblem(&client)
    } catch {
      return "the client failed: \(error)"
    }
  }

  private func open() throws -> Client {
    try Client(disk, remote, seed: SeededRandom.seed(seed, life))
  }

  private func restart(_ client: inout Client, _ crash: Crash) throws {
    client.scheduler.clear()
    noteDisk()
    disk = SimulatedDisk(disk.image(after: crash))
    hasDiskFault = false
    waiters = []
    life += 1
    client = try open()
    let waiting = Set(try client.sync.changes().map(\.number))
    for (name, objectChanges) in changes {
      for (place, change) in objectChanges.enumerated() {
        guard let number = change.number, !waiting.contains(number) else { continue }
        changes[name]?[place].hasLeftQueue = true
      }
    }
  }

  private func noteDisk() { trace = SeededRandom.seed(trace, UInt64(disk.counters.operations)) }

  private func crash() -> Crash {
    if random.oneIn(3) { return .kill }
    let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
    return .powerLoss(survivors, seed: random.next())
  }

  // MARK: Steps

  private static let steps: [Kind] = [
    .puts, .puts, .puts, .puts, .puts, .updates, .deletes, .deletes, .cancels, .cancels, .holds, .finds,
    .finds,
    .refusals, .writesAtTheRemote, .writesAtTheRemote, .stalls, .stalledDownloads, .offline, .offline,
    .breaks,
    .breaks, .online, .online,
    .sweeps, .kills, .powerLosses, .strikes,
  ]

  /// Runs one random step. Returns a description of the failure, or nil.
  private func step(_ client: inout Client) throws -> String? {
    let kind = Self.steps[random.below(Self.steps.count)]
    let name = Self.names[random.below(Self.names.count)]
    switch kind {
    case .puts: return try put(name, client)
    case .refusals: return try put(Self.refused, client)
    case .updates:
      let step = "\(random.below(100))"
      var changes = AttributeChanges()
      changes.setCustom("step", step)
      let isQueued = try queue(.update(step: step), name, client) { path, watcher in
        try client.sync.update(path, changes, watcher: watcher) != nil
      }
      if isQueued { note(.updates) }
    case .deletes:
      let isQueued = try queue(.delete, name, client) { path, watcher in
        try client.sync.delete(path, watcher)
      }
      if isQueued { note(.deletes) }
    case .cancels: try cancel(client)
    case .holds:
      guard let change = try client.sync.changes().first else { break }
      client.sync.hold(change.number)
      note(.holds)
    case .finds:
      try find(random.oneIn(2) ? Self.foreign : name, client)
    case .writesAtTheRemote: try writeAsOtherClient()
    case .stalls:
      remote.stall(name: Self.foreign, from: random.oneIn(3) ? nil : [0, 256 << 10][random.below(2)])
      note(.stalls)
    case .stalledDownloads: try stallDownload(&client)
    case .offline:
      remote.isReachable = false
      note(.offline)
    case .breaks:
      remote.disconnect(afterCalls: random.below(12), losingAnswer: random.oneIn(2))
      note(.breaks)
    case .online:
      remote.isReachable = true
      note(.online)
    case .sweeps:
      try client.store.objects.sweep(.everything)
      note(.sweeps)
    case .kills:
      try restart(&client, .kill)
      note(.kills)
    case .powerLosses:
      let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
      try restart(&client, .powerLoss(survivors, seed: random.next()))
      note(.powerLosses)
    case .strikes:
      hasDiskFault = true
      disk.setFault(
        FaultPlan(.inputOutput, at: disk.counters.operations + random.below(60), isSticky: true))
      note(.strikes)
    case .putsOffline, .fetched, .resumedPieces: break
    }
    return nil
  }

  private func note(_ kind: Kind) { counts[kind, default: 0] += 1 }

  private func path(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: Self.bucket, name: try ObjectName(name))
  }

  private func find(_ name: String, _ client: Client) throws {
    note(.finds)
    let waiter = newWaiter()
    client.sync.find(try path(name), fetchRequest) { [weak self] result in
      self?.notify(waiter)
      if case .success(.here) = result { self?.note(.fetched) }
    }
  }

  /// A request for the content of an object. Its progress callback counts a piece as resumed if the remote
  /// has sent no bytes for that piece.
  private var fetchRequest: BlobSync.FetchRequest {
    BlobSync.FetchRequest(fetchesContent: true, timeout: Self.timeout) { [weak self] _, _ in
      guard let self else { return }
      if remote.bytesSent == bytesSent { note(.resumedPieces) }
      bytesSent = remote.bytesSent
    }
  }

  /// Lets the remote stop sending in the middle of a content. The download stays stalled until the process
  /// ends or the search times out.
  private func stallDownload(_ client: inout Client) throws {
    note(.stalledDownloads)
    try writeAsOtherClient(Self.contentCount - 1)
    remote.stall(name: Self.foreign, from: 256 << 10)
    try find(Self.foreign, client)
    client.scheduler.play(for: 0)
    if random.oneIn(2) { try restart(&client, .kill) } else { client.scheduler.play(for: 2 * Self.timeout) }
    remote.stall(name: Self.foreign, from: nil)
  }

  private func content(_ name: String, _ client: Client) throws -> [UInt8]? {
    try client.store.objects.content(at: path(name))?.reader.readAll()
  }

  // MARK: Who waits

  private func newWaiter() -> Int {
    lastWaiter += 1
    waiters.insert(lastWaiter)
    return lastWaiter
  }

  private func notify(_ waiter: Int) { if waiters.remove(waiter) == nil { unexpectedCompletions += 1 } }

  private var completionProblem: String? {
    unexpectedCompletions == 0 ? nil : "\(unexpectedCompletions) were notified more than once of a completion"
  }

  // MARK: Changes

  private func put(_ name: String, _ client: Client) throws -> String? {
    let content = random.below(Self.contentCount)
    let bytes = BlobWorkload.content(content)
    note(.puts)
    if !remote.isReachable { note(.putsOffline) }
    let place = changes[name, default: []].count
    changes[name, default: []].append(Change(.put(content)))
    let source = UploadSource(file: nil, byteCount: UInt64(bytes.count), modified: 0)
    let upload = client.store.objects.upload(to: try path(name), from: source, attributes: ObjectAttributes())
    let session = upload.number.description
    if name == Self.refused { abandonedSessions.insert(session) }
    let waiter = newWaiter()
    do {
      for start in stride(from: 0, to: bytes.count, by: 100_000) {
        try upload.append(Array(bytes[start..<min(bytes.count, start + 100_000)]))
      }
      let watcher = BlobSync.Watcher { [weak self] result in
        self?.notify(waiter)
        guard case .failure(.remote(.rejected)) = result else { return }
        self?.note(.refusals)
        self?.noteAbandonedSession(session)
      }
      let number = try client.sync.put(upload, token: "token", watcher: watcher).change.number
      changes[name]?[place].number = number
    } catch {
      upload.cancel()
      throw error
    }
    return try self.content(name, client) == bytes ? nil : "\(name) is not here once it was put"
  }

  /// If the remote is reachable, the client ends the session on the remote at once, so the session must not
  /// remain there.
  private func noteAbandonedSession(_ session: String) {
    if remote.isReachable, !hasDiskFault { abandonedSessions.remove(session) }
  }

  /// Queues a change by calling `body`. Returns false if `body` finds nothing to change.
  private func queue(
    _ action: Change.Action, _ name: String, _ client: Client,
    _ body: (ObjectPath, BlobSync.Watcher) throws -> Bool
  ) throws -> Bool {
    let path = try path(name)
    let place = changes[name, default: []].count
    changes[name, default: []].append(Change(action))
    let waiter = newWaiter()
    guard try body(path, BlobSync.Watcher { [weak self] _ in self?.notify(waiter) }) else {
      waiters.remove(waiter)
      changes[name]?.removeLast()
      return false
    }
    let number = try client.sync.changes().last { $0.path == path }?.number
    changes[name]?[place].number = number
    return true
  }

  private func cancel(_ client: Client) throws {
    let waiting = try client.sync.changes()
    guard !waiting.isEmpty else { return }
    let change = waiting[random.below(waiting.count)]
    let name = change.path.name.text
    let place = changes[name, default: []].lastIndex { $0.number == change.number && !$0.hasLeftQueue }
    note(.cancels)
    if change.put != nil { abandonedSessions.insert(change.session) }
    if let place { changes[name]?[place].cancels += 1 }
    client.sync.cancel(change.number) { [weak self] isGone in
      guard let self, !hasDiskFault else { return }
      if isGone { return noteAbandonedSession(change.session) }
      if let place { changes[name]?[place].lateCancels += 1 }
    }
  }

  /// Writes as another client, which has a connection of its own.
  private func writeAsOtherClient() throws {
    remote.isReachable = true
    note(.writesAtTheRemote)
    if foreignContent != nil, random.oneIn(4) {
      foreignContent = nil
      return try remote.delete(bucket: Self.bucket, name: Self.foreign)
    }
    try writeAsOtherClient(random.below(Self.contentCount))
  }

  private func writeAsOtherClient(_ content: Int) throws {
    remote.isReachable = true
    let bytes = BlobWorkload.content(content)
    foreignWrites += 1
    let session = "foreign \(foreignWrites)"
    try remote.append(bytes, at: 0, toUpload: session)
    _ = try remote.finish(
      upload: session,
      as: RemoteObject(bucket: Self.bucket, name: Self.foreign, byteCount: UInt64(bytes.count)))
    foreignContent = content
  }

  // MARK: The end

  private func finalProblem(_ client: inout Client) throws -> String? {
    remote.isReachable = true
    remote.stall(name: Self.foreign, from: nil)
    for change in try client.sync.changes() { client.sync.release(change.number) }
    client.scheduler.play(for: 3_600_000_000)
    let waiting = try client.sync.changes()
    guard waiting.isEmpty else { return "in the end \(waiting.count) changes wait" }
    guard waiters.isEmpty else { return "\(waiters.count) were never notified of a completion" }
    for name in Self.names + [Self.refused, Self.foreign] {
      if let problem = try problem(of: name, client) { return problem }
    }
    if let problem = completionProblem { return problem }
    // By now, every object is stored exactly as on the remote, so no part of a content may be left.
    let left = try client.store.objects.arrivals().count
    guard left == 0 else { return "\(left) parts of contents are left that no transfer will resume" }
    // The sweep would skip a pack that is still being filled.
    try restart(&client, .kill)
    try client.store.objects.sweep(.everything)
    if let leak = try BlobJudge.leak(in: client.store) { return leak }
    let leaked = remote.openSessionIDs.subtracting(abandonedSessions)
    guard leaked.isEmpty else { return "the remote has \(leaked.count) uploads that no client abandoned" }
    noteDisk()
    for kind in Kind.allCases { trace = SeededRandom.seed(trace, UInt64(counts[kind, default: 0])) }
    trace = SeededRandom.seed(trace, remote.bytesReceived, life)
    try client.store.checkInvariants()
    try client.store.close()
    return nil
  }

  private func problem(of name: String, _ client: Client) throws -> String? {
    let path = try path(name)
    let waiter = newWaiter()
    client.sync.find(path, fetchRequest) { [weak self] _ in self?.notify(waiter) }
    client.scheduler.play(for: Self.timeout)
    guard waiters.isEmpty else { return "a caller that looked for \(name) was never notified" }
    let (here, there) = (try content(name, client), remote.content(bucket: Self.bucket, name: name))
    guard here == there else {
      return "\(name) has \(here?.count ?? -1) bytes here, and \(there?.count ?? -1) at the remote"
    }
    guard try !client.store.objects.outbox.isWaiting(path) else { return "\(name) waits for nothing" }
    let isAllowed = allowed(name).contains { $0.map(BlobWorkload.content) == there }
    guard isAllowed else {
      return "\(name) has \(there?.count ?? -1) bytes on both sides, and was to have others"
    }
    return try problemOfMetadata(name, client)
  }

  private func problemOfMetadata(_ name: String, _ client: Client) throws -> String? {
    guard let here = try client.store.objects.object(at: path(name)) else { return nil }
    let there = try remote.object(bucket: Self.bucket, name: name)
    guard here.attributes == there.attributes, here.remoteGeneration == there.generation else {
      return "the metadata of \(name) differs"
    }
    guard let custom = custom(name), here.attributes.custom != custom else { return nil }
    return "\(name) has \(here.attributes.custom) on both sides, and was to have \(custom)"
  }

  /// Returns the expected custom metadata; nil if it cannot be known.
  private func custom(_ name: String) -> [String: String]? {
    var custom: [String: String] = [:]
    for change in changes[name, default: []].reversed() {
      guard change.hasHappened else { return nil }
      switch change.action {
      case .put: return custom
      case .delete: return nil
      case .update(let step): if custom.isEmpty { custom["step"] = step }
      }
    }
    return nil
  }

  /// Returns the allowed contents as numbers; nil means that the object may be absent.
  private func allowed(_ name: String) -> [Int?] {
    if name == Self.foreign { return [foreignContent] }
    if name == Self.refused { return [nil] }
    var allowed: [Int?] = []
    for change in changes[name, default: []].reversed() {
      switch change.action {
      case .put(let content): allowed.append(content)
      case .delete: allowed.append(nil)
      case .update: continue
      }
      if change.hasHappened { return allowed }
    }
    return allowed + [nil]
  }
}
