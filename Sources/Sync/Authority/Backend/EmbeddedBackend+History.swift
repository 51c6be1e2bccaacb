// The history of a store, as far as its change feed has it.

internal import ByteStore
internal import DocumentStore
package import OfflineSync

extension EmbeddedBackend {
  private static let feedPageBytesMax = 1 << 20

  package func changes(
    after mark: BackendMark, max count: Int
  ) throws(RemoteError) -> BackendChanges? {
    do throws(DocumentStoreError) {
      guard try contains(mark) else { return nil }
      let (commits, end) = try store.feedChanges(
        after: mark.position, max: count, bytesMax: Self.feedPageBytesMax)
      let time = commits.last.map { SnapshotVersion($0.time) } ?? mark.time
      return BackendChanges(commits, end: BackendMark(commits.last?.position ?? end, time))
    } catch {
      if case .feedTruncated = error { return nil }
      throw RemoteError(error)
    }
  }

  /// Whether the commit at a position was the last one at a time. No mark lies before the first commit of the
  /// feed, because the documents of that time are not known.
  private func contains(_ mark: BackendMark) throws(DocumentStoreError) -> Bool {
    guard mark.position > .start, try mark.position <= store.feedRange().newest else { return false }
    let before = FeedPosition(mark.position.value - 1)
    let commits = try store.feedChanges(after: before, max: 2, bytesMax: .max).commits
    guard let commit = commits.first, commit.position == mark.position,
      SnapshotVersion(commit.time) <= mark.time
    else { return false }
    return commits.count < 2 || mark.time < SnapshotVersion(commits[1].time)
  }

  package func lastMark() throws(RemoteError) -> BackendMark {
    // The time is read first, so the position is not before the last commit up to the time.
    let time = store.lastCommitTime.map { SnapshotVersion($0) } ?? .none
    let range = try translating { () throws(DocumentStoreError) in try store.feedRange() }
    return BackendMark(range.newest, time)
  }

  package func mayHaveReached(_ mark: BackendMark) throws(RemoteError) -> Bool {
    try translating { () throws(DocumentStoreError) in
      let last = store.lastCommitTime.map { SnapshotVersion($0) } ?? .none
      guard mark.time <= last, mark.position <= (try store.feedRange()).newest else { return false }
      if let commit = try store.feedTime(at: mark.position), SnapshotVersion(commit) > mark.time {
        return false
      }
      guard mark.position.value < .max,
        let next = try store.feedTime(at: FeedPosition(mark.position.value + 1))
      else { return true }
      return SnapshotVersion(next) > mark.time
    }
  }

  package func raiseTime(to time: SnapshotVersion) -> SnapshotVersion {
    SnapshotVersion(store.raiseCommitTime(to: time.timestamp))
  }
}
