// Writes of what the writes before them make.
//
// Whoever changes a document depending on what is in it can ask that it is unchanged since it was read. While writes of
// it wait, what was read has no time yet: it is what the last of them makes. Then the condition is `asRead`, and the write
// follows those before it that are about the document:
//
//   0. it is taken if they make just what was read; meanwhile one may have been answered, and others may have changed
//      what is under the next one. From then on its condition is `asMadeBefore`
//   1. it is sent when they were answered, and not sooner
//   2. when the last of them that makes something of the document was accepted, its time takes the place of the condition
//   3. if one of them is refused or cancelled, nothing can satisfy the condition any more, and the write is refused too

package import DocumentStore

extension Precondition {
  /// What documents with pending writes have as their time, and what no remote has.
  package static let asMadeBefore = Precondition.updateTime(SnapshotVersion.none.timestamp)
  /// The same for who has read these fields: whoever takes the write compares. Only for this process.
  package static func asRead(_ fields: StoredMap) -> Precondition {
    var bytes: [UInt8] = []
    BatchCodec.append(fields, to: &bytes)
    var hasher = Hasher()
    hasher.combine(bytes)
    // Before all times that documents have, and behind the two that mean something else.
    let mark = Int64(truncatingIfNeeded: hasher.finalize()) & (1 << 48 - 1)
    return .updateTime(SnapshotVersion(microseconds: -2 - mark).timestamp)
  }

  /// It is about what writes make that wait.
  var isAboutPending: Bool {
    if case .updateTime(let time) = self { time.microseconds <= 0 && self != .impossible } else { false }
  }

  /// Nothing was ever changed then, and what waits has no such time either.
  package static let impossible = Precondition.updateTime(SnapshotVersion(microseconds: -1).timestamp)
}

extension PendingBatch {
  /// Whether it is for what batches before it make of the document.
  func follows(_ path: DocumentPath) -> Bool {
    mutations(of: path).contains { $0.mutation.precondition == .asMadeBefore }
  }

  /// Whether this batch is one of those.
  func follows(_ other: PendingBatch) -> Bool {
    mutations.contains { mutation in
      mutation.precondition == .asMadeBefore && other.paths.contains(mutation.path)
    }
  }

  /// Whether there is a document behind it that a batch can follow.
  func makes(_ path: DocumentPath) -> Bool {
    guard let last = mutations(of: path).last?.mutation, last.precondition != .impossible else {
      return false
    }
    switch last.change {
    case .set, .patch: return true
    case .delete, .verify, .place: return false
    }
  }

  /// Whether it changes nothing of a document that is there.
  func leavesAlone(_ path: DocumentPath) -> Bool {
    mutations(of: path).allSatisfy {
      $0.mutation.change == .verify || $0.mutation.precondition == .exists(false)
    }
  }

  /// The same batch, once what it is for has a time, or will never be.
  func following(_ path: DocumentPath, madeAt version: SnapshotVersion?) -> PendingBatch {
    let settled = version.map { Precondition.updateTime($0.timestamp) } ?? .impossible
    let mutations = mutations.map { mutation in
      guard mutation.path == path, mutation.precondition == .asMadeBefore else { return mutation }
      return mutation.requiring(settled)
    }
    return PendingBatch(id: id, run: run, time: time, base: base, mutations: mutations)
  }

  /// When a document was as this batch has made it.
  func version(
    of path: DocumentPath, _ version: SnapshotVersion, _ results: [WriteResult]
  ) -> SnapshotVersion {
    guard let last = mutations(of: path).last?.place, last < results.count,
      results[last].version != .none
    else { return version }
    return results[last].version
  }
}

extension WriteQueue {
  /// Settles the batches that follow this one, which was accepted, or refused if there is no version. Returns what they
  /// were before.
  mutating func settleFollowers(
    of batch: PendingBatch, _ path: DocumentPath, _ version: SnapshotVersion?
  ) -> [BatchID: PendingBatch] {
    var settled: [BatchID: PendingBatch] = [:]
    guard batch.makes(path) else { return settled }
    var last = batch.id
    while let next = next(after: last, about: path) {
      if next.follows(path) {
        settled[next.id] = next
        replace(next.following(path, madeAt: version))
        // Those behind it follow it.
        if version != nil { break }
      } else if version == nil ? next.decidesAll(of: path) : !next.leavesAlone(path) {
        break
      }
      last = next.id
    }
    return settled
  }
}
