// The pending writes of one user, in order.
//
// Invariants:
//   - `order` has the keys of `batches`.
//   - `chains` has, for each path, the batches that write it, and no empty list.
//   - `runCounts` has the number of batches of each run that has batches.
//   - The decider of a chain is the last batch whose result is independent of the document's earlier state.
//   - The followers of a chain are the batches that follow earlier batches of the chain. At least one of
//     these earlier batches leaves the document in place.
//
// The cost of an answer must not grow with the number of pending writes of a document. The local view is the
// remote's version with the chain applied. When the remote's version changes, the chain is applied to the old
// and the new version in parallel. As soon as the two results are equal, the view is unchanged, and the
// remaining batches are skipped. This usually takes one step, because an increment has a fixed base and a
// field that is set has a fixed value. If the results still differ after a few steps, another client has
// changed a field that the chain does not determine, and the rest is applied to the new version only.

package import DocumentStore

package struct WriteQueue: Sendable {
  private struct Chain {
    var batches = BatchList()
    /// The decider: batches before it do not affect the view.
    var decider: BatchID?
    /// The followers of the chain. There are usually none, and an answer then changes no later batch.
    var followers = BatchList()
  }

  /// The number of batches that are applied to the remote's old and new version for a comparison.
  private static let comparedMax = 4

  private var batches: [BatchID: PendingBatch] = [:]
  private var order = BatchList()
  /// The batches of each document, so that no operation on one document scans the whole queue.
  private var chains: [DocumentPath: Chain] = [:]
  private var runCounts: [RunID: Int] = [:]

  package init() {}

  package var count: Int { order.count }
  package var isEmpty: Bool { order.isEmpty }
  package var last: PendingBatch? { order.last.flatMap { batches[$0] } }
  package var first: PendingBatch? { order.first.flatMap { batches[$0] } }
  package var ids: ArraySlice<BatchID> { order.all }
  package var all: [PendingBatch] { ids.compactMap { batches[$0] } }
  package var paths: some Collection<DocumentPath> { chains.keys }

  package subscript(id: BatchID) -> PendingBatch? { batches[id] }

  package func hasWrites(_ path: DocumentPath) -> Bool { chains[path] != nil }

  func hasFollowers(of path: DocumentPath) -> Bool { chains[path].map { !$0.followers.isEmpty } ?? false }

  /// Returns the first follower in the document's chain after the given batch.
  func follower(behind id: BatchID, of path: DocumentPath) -> PendingBatch? {
    chains[path]?.followers.next(after: id).flatMap { batches[$0] }
  }

  /// Returns the batches that write a document, in order.
  package func batches(about path: DocumentPath) -> [PendingBatch] {
    chains[path]?.batches.all.compactMap { batches[$0] } ?? []
  }

  /// Returns the first batch after the given one, or the first batch of the queue if `id` is nil.
  package func next(after id: BatchID?) -> PendingBatch? {
    (id.map { order.next(after: $0) } ?? order.first).flatMap { batches[$0] }
  }

  /// Returns the first batch after the given one that writes the document.
  func next(after id: BatchID, about path: DocumentPath) -> PendingBatch? {
    chains[path]?.batches.next(after: id).flatMap { batches[$0] }
  }

  package func previous(before id: BatchID) -> BatchID? { order.previous(before: id) }

  package mutating func append(_ batch: PendingBatch) {
    order.append(batch.id)
    batches[batch.id] = batch
    runCounts[batch.run, default: 0] += 1
    for path in batch.paths {
      chains[path, default: Chain()].batches.append(batch.id)
      if batch.determinesResult(of: path) { chains[path]?.decider = batch.id }
    }
    noteFollower(batch)
  }

  private mutating func noteFollower(_ batch: PendingBatch) {
    // The paths are collected in one pass, because a batch may have thousands of mutations.
    let followed = Set(batch.mutations.lazy.filter { $0.precondition == .afterPendingWrites }.map(\.path))
    // A batch becomes a follower only when it is appended, so the list stays sorted.
    for path in followed where chains[path]?.followers.contains(batch.id) == false {
      chains[path]?.followers.append(batch.id)
    }
    for path in batch.paths where !followed.contains(path) && hasFollowers(of: path) {
      chains[path]?.followers.remove(batch.id)
    }
  }

  @discardableResult
  package mutating func remove(_ id: BatchID) -> PendingBatch? {
    guard let batch = batches.removeValue(forKey: id) else { return nil }
    order.remove(id)
    runCounts[batch.run, default: 1] -= 1
    if runCounts[batch.run] == 0 { runCounts[batch.run] = nil }
    for path in batch.paths {
      // The chain is removed from the dictionary during the change, so that it is modified in place and not
      // copied.
      guard var chain = chains.removeValue(forKey: path) else { continue }
      chain.batches.remove(id)
      chain.followers.remove(id)
      guard !chain.batches.isEmpty else { continue }
      if chain.decider == id {
        // The removed batch was the last decider, so the new decider can only be an earlier batch.
        chain.decider = chain.batches.split(at: id).before.last {
          batches[$0]?.determinesResult(of: path) ?? false
        }
      }
      chains[path] = chain
    }
    return batch
  }

  /// Replaces batches whose writes of a document have changed.
  mutating func replace(_ changed: [PendingBatch], about path: DocumentPath) {
    for batch in changed { replace(batch) }
    let decider = batches(about: path).last { $0.determinesResult(of: path) }?.id
    chains[path]?.decider = decider
  }

  /// Replaces a batch whose preconditions have changed. Neither version may be a decider.
  mutating func replace(_ batch: PendingBatch) {
    guard batches[batch.id] != nil else { return }
    batches[batch.id] = batch
    noteFollower(batch)
  }

  // MARK: Runs

  func count(of run: RunID) -> Int { runCounts[run] ?? 0 }

  /// The runs of the batches that the given queue created, in the order of their first batch. Nil stands for
  /// this queue.
  func runs(of origin: String? = nil, max count: Int) -> [RunID] {
    var runs: [RunID] = []
    var known: Set<RunID> = []
    for id in ids {
      guard known.count < min(count, runCounts.count) else { break }
      if let batch = batches[id], batch.origin?.queue == origin, known.insert(batch.run).inserted {
        runs.append(batch.run)
      }
    }
    return runs
  }

  /// The first and the last batch of each run, by the numbers that the remote knows.
  var spans: [RunID: (first: BatchID, last: BatchID)] {
    var spans: [RunID: (first: BatchID, last: BatchID)] = [:]
    for id in ids {
      guard let batch = batches[id] else { continue }
      let number = batch.remoteID
      let known = spans[batch.run] ?? (number, number)
      spans[batch.run] = (min(known.first, number), max(known.last, number))
    }
    return spans
  }

  // MARK: The user's view

  /// Returns the document with all pending writes applied.
  package func local(_ remote: SyncedDocument) -> SyncedDocument {
    guard let chain = chains[remote.path] else { return remote }
    return applied(chain.decider.map { chain.batches.split(at: $0).rest } ?? chain.batches.all, to: remote)
  }

  /// Returns the local view after the remote's version changed from `old` to `new` and the batch `removed`
  /// left the chain. `seen` is the view before these changes. `changed` has the earlier versions of
  /// batches that were replaced.
  func local(
    _ new: SyncedDocument, insteadOf old: SyncedDocument, without removed: PendingBatch? = nil,
    changed: [BatchID: PendingBatch] = [:], seen: SyncedDocument
  ) -> SyncedDocument {
    guard let chain = chains[new.path] else { return new }
    // Without a visible pending write, the view is the remote's version.
    guard seen.pending == .local else { return local(new) }
    // A replaced batch may be visible in `seen` even if the states before that batch are equal.
    guard changed.isEmpty else { return local(new) }
    var same = seen
    same.createTime = new.createTime
    var (before, rest) = (ArraySlice<BatchID>(), chain.batches.all)
    if let removed {
      (before, rest) = chain.batches.split(at: removed.id)
      if let decider = chain.decider, decider > removed.id { return same }
    } else if chain.decider != nil {
      return same
    }
    if let decider = chain.decider { before = before.drop { $0 < decider } }
    var was = applied(before, to: old)
    var now = applied(before, to: new)
    if let removed { was = removed.applied(to: was) }
    for id in rest.prefix(Self.comparedMax) {
      if was.isEquivalent(to: now) { return same }
      (was, now) = (applied([id], to: was), applied([id], to: now))
    }
    return applied(rest.dropFirst(Self.comparedMax), to: now)
  }

  private func applied(_ ids: ArraySlice<BatchID>, to document: SyncedDocument) -> SyncedDocument {
    var document = PendingDocument(document)
    for id in ids { if let batch = batches[id] { document.apply(batch) } }
    return document.finish()
  }

  /// Returns a description of a violated invariant, or nil.
  package func brokenInvariant() -> String? {
    let ids = Array(ids)
    if ids != ids.sorted() || Set(ids) != Set(batches.keys) { return "the order of the queue" }
    var expected: [DocumentPath: [BatchID]] = [:]
    for batch in all { for path in batch.paths { expected[path, default: []].append(batch.id) } }
    if Dictionary(grouping: all, by: \.run).mapValues(\.count) != runCounts { return "the runs of the queue" }
    if expected != chains.mapValues({ Array($0.batches.all) }) { return "the chains of the queue" }
    for (path, chain) in chains {
      let decider = chain.batches.all.last { batches[$0]?.determinesResult(of: path) ?? false }
      if decider != chain.decider { return "what decides \(path)" }
      if let broken = brokenFollower(of: path, chain) { return "that \(broken) follows others of \(path)" }
    }
    return nil
  }

  private func brokenFollower(of path: DocumentPath, _ chain: Chain) -> BatchID? {
    var documentExists = false
    return chain.batches.all.compactMap { batches[$0] }.first { batch in
      defer { documentExists = documentExists || batch.producesDocument(path) }
      let isFollower = batch.follows(path)
      return isFollower != chain.followers.contains(batch.id) || (isFollower && !documentExists)
    }?.id
  }
}

extension SyncedDocument {
  /// Whether every sequence of writes gives equal results on both documents.
  fileprivate func isEquivalent(to other: SyncedDocument) -> Bool {
    content == other.content && version == other.version && pending == other.pending
  }
}
