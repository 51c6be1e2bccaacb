// The writes of one user that a remote has not answered, in their order.
//
// Invariants:
//   - `order` has the keys of `batches`.
//   - `chains` has, for each path, the batches that are about it, and no empty one.
//   - The decider of a chain is the last batch in it that decides all of the document.
//   - The followers of a chain are those of its batches that follow others of it; before each is one that makes something.
//
// An answer to the first of many writes of one document must not cost as much as all of them. What is pending is
// laid over what the remote has; when that changes, both states, the one before and the one now, go through the chain
// side by side, and as soon as they are the same, what the user sees is what the user saw. A number that is added to
// knows its base and a field that is set has its value, so that is mostly one step. A time that is pending remembers
// what was there before it, and goes to the end.

package import DocumentStore

package struct WriteQueue: Sendable {
  private struct Chain {
    var batches = BatchList()
    /// What comes before it need not be looked at.
    var decider: BatchID?
    /// Mostly none: then an answer to one of many is nobody's concern.
    var followers = BatchList()
  }

  private var batches: [BatchID: PendingBatch] = [:]
  private var order = BatchList()
  /// What is laid over each document: nobody goes through the whole queue for one of them.
  private var chains: [DocumentPath: Chain] = [:]

  package init() {}

  package var count: Int { order.count }
  package var isEmpty: Bool { order.isEmpty }
  package var last: PendingBatch? { order.last.flatMap { batches[$0] } }
  package var first: PendingBatch? { order.first.flatMap { batches[$0] } }
  package var ids: ArraySlice<BatchID> { order.all }
  package var all: [PendingBatch] { ids.compactMap { batches[$0] } }
  package var paths: some Collection<DocumentPath> { chains.keys }

  package subscript(id: BatchID) -> PendingBatch? { batches[id] }

  package func isAbout(_ path: DocumentPath) -> Bool { chains[path] != nil }

  func hasFollowers(of path: DocumentPath) -> Bool { chains[path].map { !$0.followers.isEmpty } ?? false }

  /// The first one behind a batch that follows others.
  func follower(behind id: BatchID, of path: DocumentPath) -> PendingBatch? {
    chains[path]?.followers.next(after: id).flatMap { batches[$0] }
  }

  /// The batches about a document, in their order.
  package func batches(about path: DocumentPath) -> [PendingBatch] {
    chains[path]?.batches.all.compactMap { batches[$0] } ?? []
  }

  /// The first one behind another, or of all.
  package func next(after id: BatchID?) -> PendingBatch? {
    (id.map { order.next(after: $0) } ?? order.first).flatMap { batches[$0] }
  }

  /// The first one behind another that is about a document.
  func next(after id: BatchID, about path: DocumentPath) -> PendingBatch? {
    chains[path]?.batches.next(after: id).flatMap { batches[$0] }
  }

  package func previous(before id: BatchID) -> BatchID? { order.previous(before: id) }

  package mutating func append(_ batch: PendingBatch) {
    order.append(batch.id)
    batches[batch.id] = batch
    for path in batch.paths {
      chains[path, default: Chain()].batches.append(batch.id)
      if batch.decidesAll(of: path) { chains[path]?.decider = batch.id }
    }
    noteFollower(batch)
  }

  private mutating func noteFollower(_ batch: PendingBatch) {
    // Gone through once: there may be thousands.
    let followed = Set(batch.mutations.lazy.filter { $0.precondition == .asMadeBefore }.map(\.path))
    // None begins to follow others once there are batches behind it.
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
    for path in batch.paths {
      // Taken out, so that it is changed in its place and not copied.
      guard var chain = chains.removeValue(forKey: path) else { continue }
      chain.batches.remove(id)
      chain.followers.remove(id)
      guard !chain.batches.isEmpty else { continue }
      if chain.decider == id {
        // Those behind it decide nothing, or one of them would have been it.
        chain.decider = chain.batches.split(at: id).before.last {
          batches[$0]?.decidesAll(of: path) ?? false
        }
      }
      chains[path] = chain
    }
    return batch
  }

  /// Other writes of a document in the same batches.
  mutating func replace(_ changed: [PendingBatch], about path: DocumentPath) {
    for batch in changed { replace(batch) }
    let decider = batches(about: path).last { $0.decidesAll(of: path) }?.id
    chains[path]?.decider = decider
  }

  /// The same writes for other states of their documents. Neither was for any state.
  mutating func replace(_ batch: PendingBatch) {
    guard batches[batch.id] != nil else { return }
    batches[batch.id] = batch
    noteFollower(batch)
  }

  // MARK: What the user sees

  /// The document with all that is pending of it.
  package func local(_ remote: SyncedDocument) -> SyncedDocument {
    guard let chain = chains[remote.path] else { return remote }
    let start = chain.decider.map { chain.batches.split(at: $0).rest } ?? chain.batches.all
    return start.reduce(remote) { document, id in batches[id]?.applied(to: document) ?? document }
  }

  /// The same, when what lies under the chain was `old` and is `new` now, and `gone` has left the chain. `seen` is what
  /// the user saw until then. Of those that stay, some may have been others: `changed` is what they were.
  func local(
    _ new: SyncedDocument, insteadOf old: SyncedDocument, without gone: PendingBatch? = nil,
    changed: [BatchID: PendingBatch] = [:], seen: SyncedDocument
  ) -> SyncedDocument {
    guard let chain = chains[new.path] else { return new }
    // One in which no write shows is the remote's.
    guard seen.pending == .local else { return local(new) }
    // Those that are others now may show in `seen`, also where nothing below them differs.
    guard changed.isEmpty else { return local(new) }
    var same = seen
    same.createTime = new.createTime
    var (before, rest) = (ArraySlice<BatchID>(), chain.batches.all)
    if let gone {
      (before, rest) = chain.batches.split(at: gone.id)
      if let decider = chain.decider, decider > gone.id { return same }
    } else if chain.decider != nil {
      return same
    }
    if let decider = chain.decider { before = before.drop { $0 < decider } }
    var states = (was: old, is: new)
    for id in before { apply(id, changed, to: &states) }
    if let gone { states.was = gone.applied(to: states.was) }
    for id in rest {
      if states.was.looksLike(states.is) { return same }
      apply(id, changed, to: &states)
    }
    return states.is
  }

  private func apply(
    _ id: BatchID, _ changed: [BatchID: PendingBatch],
    to states: inout (was: SyncedDocument, is: SyncedDocument)
  ) {
    guard let batch = batches[id] else { return }
    states = ((changed[id] ?? batch).applied(to: states.was), batch.applied(to: states.is))
  }

  /// Nil if all is as it should be.
  package func brokenInvariant() -> String? {
    let ids = Array(ids)
    if ids != ids.sorted() || Set(ids) != Set(batches.keys) { return "the order of the queue" }
    var expected: [DocumentPath: [BatchID]] = [:]
    for batch in all { for path in batch.paths { expected[path, default: []].append(batch.id) } }
    if expected != chains.mapValues({ Array($0.batches.all) }) { return "the chains of the queue" }
    for (path, chain) in chains {
      let decider = chain.batches.all.last { batches[$0]?.decidesAll(of: path) ?? false }
      if decider != chain.decider { return "what decides \(path)" }
      if let broken = brokenFollower(of: path, chain) { return "that \(broken) follows others of \(path)" }
    }
    return nil
  }

  private func brokenFollower(of path: DocumentPath, _ chain: Chain) -> BatchID? {
    var isMade = false
    return chain.batches.all.compactMap { batches[$0] }.first { batch in
      defer { isMade = isMade || batch.makes(path) }
      let isFollower = batch.follows(path)
      return isFollower != chain.followers.contains(batch.id) || (isFollower && !isMade)
    }?.id
  }
}

extension SyncedDocument {
  /// Whatever is laid over both gives the same.
  fileprivate func looksLike(_ other: SyncedDocument) -> Bool {
    content == other.content && version == other.version && pending == other.pending
  }
}
