// Writes of a history: commits at the authority, and queues whose messages are lost, repeated and delayed.

import Authority
import DocumentStore
import OfflineSync

extension AuthorityHistory {
  // MARK: Commits

  /// Commits directly to the store, or through the authority.
  mutating func commit() throws {
    let mutations = generator.mutations()
    host.note(mutations)
    if random.oneIn(4) {
      count(.authorityCommits)
      let (version, results) = try host.authority.commit(mutations, as: "ann")
      log.note("the authority commits \(Self.text(mutations)) at \(version.microseconds)")
      guard results.count == mutations.count else { throw Violation("a commit has \(results.count) results") }
      let before = truth.current
      try noteChanges(of: mutations.map(\.path), at: version)
      try requireTime(version, of: mutations.map(\.path), before)
    } else {
      count(.commits)
      let time = try host.store.commit(mutations)
      log.note("the store commits \(Self.text(mutations)) at \(time.microseconds)")
      try noteChanges(of: mutations.map(\.path), at: SnapshotVersion(time))
    }
  }

  /// The answered time of a commit is the update time of what it has changed. The store may have a later time
  /// already, because it drops old changes from its feed by a commit of its own.
  private func requireTime(
    _ version: SnapshotVersion, of paths: [DocumentPath], _ before: [DocumentPath: StoredDocument]
  ) throws {
    let times = paths.compactMap { path -> SnapshotVersion? in
      let time = truth.current[path]?.updateTime
      return time == before[path]?.updateTime ? nil : time.map { SnapshotVersion($0) }
    }
    guard version <= (try host.time()), times.allSatisfy({ $0 == version }) else {
      throw Violation(
        "the commit is answered with \(version.microseconds), and wrote at \(times.map(\.microseconds))")
    }
  }

  /// Many commits without a pause.
  mutating func burst() throws {
    count(.bursts)
    let commits = random.oneIn(8) ? 600 : 1 + random.below(60)
    log.note("\(commits) commits follow each other")
    for _ in 0..<commits {
      let mutations = generator.mutations()
      host.note(mutations)
      let time = try host.store.commit(mutations)
      try noteChanges(of: mutations.map(\.path), at: SnapshotVersion(time))
    }
  }

  /// Records the contents of documents after a commit. Returns the paths of those that have changed.
  @discardableResult
  mutating func noteChanges(
    of paths: [DocumentPath], at time: SnapshotVersion? = nil
  ) throws -> Set<DocumentPath> {
    var changes: [DocumentPath: StoredDocument?] = [:]
    for path in Set(paths) {
      let document = try host.store.document(at: path)
      if document != truth.current[path] { changes[path] = .some(document) }
    }
    if !changes.isEmpty { try truth.note(changes, at: time ?? host.time()) }
    return Set(changes.keys)
  }

  static func text(_ mutations: [Mutation]) -> String {
    mutations.map { mutation in
      switch mutation.change {
      case .delete: "-\(mutation.path)"
      case .verify: "?\(mutation.path)"
      case .set, .patch, .place: "\(mutation.path)"
      }
    }.joined(separator: " ")
  }

  // MARK: Queues

  mutating func actOfWriter(_ number: Int) throws {
    switch random.below(17) {
    case 0..<3: addWrite(number)
    case 3..<7: try send(number)
    case 7..<12:
      if let write = writers[number].takeArriving() { try arrive(write, at: number, isStray: false) }
    case 12: try arriveStray(number)
    case 13: try arriveChanged(number)
    case 14: try arriveForged(number)
    case 15:
      log.note("queue \(number) loses its connection")
      writers[number].disconnect(keepsMessages: random.oneIn(2))
    default: restart(number)
    }
  }

  private mutating func addWrite(_ number: Int) {
    guard writers[number].pending.count < 8 else { return }
    var mutations = random.oneIn(3) ? generator.mutations() : []
    if random.oneIn(10) {
      count(.forbiddenWrites)
      mutations.append(.set(generator.path(), StoredMap([(Self.forbiddenField, .boolean(true))])))
    }
    if random.oneIn(8) { mutations.append(.verify(generator.path(), .exists(random.oneIn(2)))) }
    var guards: [DocumentPath: Precondition] = [:]
    if random.oneIn(6) { guards[generator.path()] = .exists(random.oneIn(2)) }
    if random.oneIn(8), let document = truth.current.values.min(by: { "\($0.path)" < "\($1.path)" }) {
      guards[document.path] = .updateTime(document.updateTime)
    }
    count(.writes)
    let write = writers[number].add(mutations, guards: guards)
    host.note(write.mutations)
    log.note("queue \(number) adds \(write.id.batch): \(Self.text(write.mutations))")
  }

  private mutating func send(_ number: Int) throws {
    try connectWriter(number)
    guard let write = writers[number].sendNext() else { return }
    log.note("queue \(number) sends \(write.id.batch), first open \(write.firstOpen)")
    guard random.oneIn(4) else { return }
    count(.duplicates)
    writers[number].duplicate(write)
  }

  /// Names the runs of the queue to the authority.
  mutating func connectWriter(_ number: Int) throws {
    guard !writers[number].isConnected else { return }
    let runs = writers[number].runs
    log.note("queue \(number) connects with \(runs.count) runs")
    let tokens = try host.authority.ledger.register(runs, as: writers[number].user)
    guard Set(tokens.keys) == Set(runs.map(\.run)) else { throw Violation("not all runs were registered") }
    ledger.register(runs)
    for token in tokens.values { registrationTimes[token] = registrationTimes[token] ?? point }
    writers[number].connect(tokens)
  }

  private mutating func arriveStray(_ number: Int) throws {
    guard !writers[number].strays.isEmpty else { return }
    count(.strays)
    let write = writers[number].takeStray(random.below(writers[number].strays.count))
    try arrive(write, at: number, isStray: true)
  }

  /// A message arrives with the identity of an accepted write and other content.
  private mutating func arriveChanged(_ number: Int) throws {
    let queue = writers[number].queue
    let ids = ledger.accepted.keys.filter { $0.queue == queue }
      .sorted { ($0.run.value, $0.batch) < ($1.run.value, $1.batch) }
    guard let id = ids.randomElement(using: &random), let first = ledger.accepted[id] else { return }
    count(.changedDuplicates)
    let added = generator.mutations()
    host.note(added)
    var write = first.write
    write.mutations += added
    write.firstOpen = id.batch
    try arrive(write, at: number, isStray: true)
  }

  /// A message arrives with the registration of another user.
  private mutating func arriveForged(_ number: Int) throws {
    guard let write = writers[number].transit.last, !write.registration.isEmpty else { return }
    count(.forgedRegistrations)
    try arrive(write, at: number, isStray: true, isForged: true)
  }

  private mutating func restart(_ number: Int) {
    guard random.oneIn(3) else { return }
    count(.writersRestarted)
    let isSetBack = random.oneIn(2)
    let lost = writers[number].restart(
      as: RunID(random.next()), losing: isSetBack ? random.below(writers[number].pending.count + 1) : 0)
    log.note("queue \(number) restarts without \(lost.map(\.id.batch))")
  }
}
