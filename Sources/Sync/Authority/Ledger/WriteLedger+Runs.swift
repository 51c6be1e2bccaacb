// Finds and registers the runs of queues.

internal import ByteStore
internal import DocumentStore
package import OfflineSync

extension WriteLedger {
  /// The number of runs that a write stream can register, and that are finished with one registration.
  private static let runsMax = 1000

  // MARK: Finding

  /// Returns the record of a run; nil if it is not known.
  func record(of run: RunName) throws(RemoteError) -> RunRecord? {
    if let document = try backend.document(at: run.path) { return try Self.record(document) }
    // A run that continued after it was finished has a newer document, which expires later than this record.
    if let finished = try finishedRuns(run.queuePath).record(of: run.run), finished.lastDay >= firstDay {
      return finished
    }
    return hasEarlierRecords.withLock { $0 } ? try EarlierLedger.record(of: run, in: backend) : nil
  }

  private static func record(_ document: StoredDocument) throws(RemoteError) -> RunRecord {
    guard let record = RunRecord(document.fields) else { throw damaged(document.path) }
    return record
  }

  private func finishedRuns(_ path: DocumentPath) throws(RemoteError) -> FinishedRuns {
    guard let document = try backend.document(at: path) else { return FinishedRuns() }
    guard let runs = FinishedRuns(document.fields) else { throw Self.damaged(path) }
    return runs
  }

  static func damaged(_ path: DocumentPath) -> RemoteError {
    RemoteError(.dataLoss, "\(path) is not what an authority writes there.")
  }

  // MARK: Registering

  /// Registers the runs that a client names when it opens a write stream, in one commit. Returns the token of
  /// each run. The client has unanswered batches of these runs only, and the last one is its present run.
  /// Other runs of the queue are finished.
  package func register(
    _ runs: [RunRegistration], as user: String?
  ) throws(RemoteError) -> [RunID: [UInt8]] {
    guard !runs.isEmpty else { return [:] }
    let (names, others, paths) = try checked(runs, as: user)
    return try inTurn(paths) { () throws(RemoteError) in try step(names, others) }
  }

  /// Registers runs like `register(_:as:)` without waiting. `done` is called within this call, or later on
  /// another thread.
  package func register(
    _ runs: [RunRegistration], as user: String?, connection: UInt64? = nil,
    done: @escaping @Sendable (Result<[RunID: [UInt8]], RemoteError>) -> Void
  ) {
    guard !runs.isEmpty else { return done(.success([:])) }
    do throws(RemoteError) {
      let (names, others, paths) = try checked(runs, as: user)
      inTurn(
        paths, { [self] () throws(RemoteError) in try step(names, others) },
        client: CommitClient(user: user, connection: connection), done: done)
    } catch {
      done(.failure(error))
    }
  }

  /// Returns the runs of a registration, the other runs of its queue, and the documents of all of them.
  private func checked(
    _ runs: [RunRegistration], as user: String?
  ) throws(RemoteError) -> (names: [RunName], others: [RunName], paths: Set<DocumentPath>) {
    guard let queue = runs.first?.queue, runs.count <= Self.runsMax,
      runs.allSatisfy({ $0.queue == queue })
    else {
      throw RemoteError(
        .invalidArgument, "A write stream registers at most \(Self.runsMax) runs of one queue.")
    }
    let names = runs.map { RunName(user: user, queue: $0.queue, run: $0.run) }
    for (name, run) in zip(names, runs) {
      try name.check()
      // A token may prove that the store was set back.
      guard !run.token.isEmpty else { continue }
      _ = try life.check(run.token, of: name)
    }
    let others = try otherRuns(of: names)
    return (names, others, Set((names + others).map(\.path) + [names[0].queuePath]))
  }

  /// Registers one run of a client that has no unanswered batches of other runs, and returns its token.
  package func register(_ run: RunRegistration, as user: String?) throws(RemoteError) -> [UInt8] {
    try register([run], as: user)[run.run] ?? []
  }

  private func otherRuns(of names: [RunName]) throws(RemoteError) -> [RunName] {
    let collection = RunName.collection(ofQueue: names[0].queuePath)
    let query = try translating { () throws(DocumentStoreError) in
      try StructuredQuery(.collection(collection)).limited(to: .first(Self.runsMax))
    }
    let documents = try backend.documents(query)
    let named = Set(names.map(\.run))
    return documents.compactMap { document in
      guard let number = UInt64(document.path.id, radix: 36), !named.contains(RunID(number)) else {
        return nil
      }
      return RunName(user: names[0].user, queue: names[0].queue, run: RunID(number))
    }
  }

  private func step(
    _ names: [RunName], _ others: [RunName]
  ) throws(RemoteError) -> LedgerStep<[RunID: [UInt8]]> {
    var registration = Registration(day: today)
    for name in names where registration.isNew(name) {
      let document = try backend.document(at: name.path)
      if let document {
        registration.meet(name, try Self.record(document))
      } else {
        registration.add(name, try record(of: name) ?? RunRecord(lastDay: today))
      }
    }
    if registration.addsRuns, !others.isEmpty {
      var finished = try finishedRuns(names[0].queuePath)
      for other in others {
        guard let document = try backend.document(at: other.path) else { continue }
        finished.add(other.run, try Self.record(document))
        registration.mutations.append(.delete(other.path))
      }
      registration.mutations.append(.set(names[0].queuePath, finished.fields))
    }
    guard !registration.mutations.isEmpty else {
      return .finished(tokens(of: names, registration.dates))
    }
    let (dates, undated) = (registration.dates, registration.undated)
    return .commit(BackendCommit(registration.mutations)) { [self] outcome in
      outcome.map { outcome in
        let time = SnapshotVersion(outcome.time)
        return tokens(of: names, dates.merging(undated.map { ($0, time) }) { first, _ in first })
      }
    }
  }

  private func tokens(of names: [RunName], _ dates: [RunID: SnapshotVersion]) -> [RunID: [UInt8]] {
    var tokens: [RunID: [UInt8]] = [:]
    for name in names where tokens[name.run] == nil {
      if let time = dates[name.run] { tokens[name.run] = life.registrationToken(of: name, at: time) }
    }
    return tokens
  }
}

/// The changes of one registration.
private struct Registration {
  let day: Int64
  var mutations: [Mutation] = []
  /// The dates of runs that were registered before.
  private(set) var dates: [RunID: SnapshotVersion] = [:]
  /// The runs whose date is the time of the commit.
  private(set) var undated: [RunID] = []
  private(set) var addsRuns = false

  init(day: Int64) { self.day = day }

  func isNew(_ run: RunName) -> Bool { dates[run.run] == nil && !undated.contains(run.run) }

  /// Notes that a run which has a document was seen today.
  mutating func meet(_ run: RunName, _ record: RunRecord) {
    dates[run.run] = record.registered
    guard record.registered != nil else { return add(run, record) }
    guard record.lastDay != day else { return }
    mutations.append(
      .patch(
        run.path, StoredMap([("d", .integer(day))]), mask: FieldMask([StoredFieldPath(unchecked: ["d"])])))
  }

  /// Adds a document for a run, whose date is the time of the commit if it has none.
  mutating func add(_ run: RunName, _ record: RunRecord) {
    addsRuns = true
    var record = record
    record.lastDay = day
    var transforms: [FieldTransform] = []
    if let registered = record.registered {
      dates[run.run] = registered
    } else {
      undated.append(run.run)
      transforms.append(FieldTransform(StoredFieldPath(unchecked: ["t"]), .serverTimestamp))
    }
    mutations.append(.set(run.path, record.fields, transforms: transforms))
  }
}
