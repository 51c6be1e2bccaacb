// Checks an open store: its files, its records, and its indexes.
//
//   1. files      check the files as of one commit, and every record in them (StoreTools)
//   2. indexes    compare every document with every index, unless step 1 found damage outside of contents
//   3. documents  after such damage, read every document by its name instead, and list the lost ones
//
// Each step has its own snapshot. Commits, reads and flushes continue during all steps.

import ByteStore
import StoreTools

extension DocumentStore {
  /// Checks this store while it is in use. Calls `progress` on this thread from time to time. Throws `closed`
  /// soon after `isCancelled` returns true or the store begins to close.
  package func checkOnline(
    progress: @escaping (OnlineCheckProgress) -> Void = { _ in },
    isCancelled: @escaping () -> Bool = { false }
  ) throws(DocumentStoreError) -> OnlineCheckReport {
    let isStopped = { [bytes] in bytes.isClosing || isCancelled() }
    let found = try check(
      progress: { progress(OnlineCheckProgress(step: .files, done: $0.bytesDone, total: $0.bytesTotal)) },
      isCancelled: isStopped)
    var report = OnlineCheckReport(found)
    // Later reads verify the contents again instead of trusting earlier results.
    if report.hasLostContents { attachments.didFindDamagedBlobs() }
    if report.isReadable {
      var comparison = NoComparison()
      report.add(
        try agreement(
          comparing: &comparison,
          progress: { done, total in
            let (done, total) = (UInt64(done), UInt64(max(done, total)))
            progress(OnlineCheckProgress(step: .indexes, done: done, total: total))
          }, isCancelled: isStopped))
    } else {
      try listLostDocuments(in: &report, progress, isStopped: isStopped)
    }
    return report
  }

  /// A comparison of indexes only.
  private struct NoComparison: RecordComparison {
    func add(_ document: StoredDocument, to agreement: inout StoreAgreement) {}
  }

  /// Reads every document of the index of the names. Lists nothing if the names are not indexed now.
  private func listLostDocuments(
    in report: inout OnlineCheckReport, _ progress: (OnlineCheckProgress) -> Void, isStopped: () -> Bool
  ) throws(DocumentStoreError) {
    let (snapshot, names) = try byteSnapshot { [indexes] in indexes.state.withLock { $0.names?.tree } }
    guard let names else { return }
    let shapes = indexes.shapes.table
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    do throws(DocumentStoreError) {
      var cursor = try names.cursor()
      var done = 0
      while try cursor.next() {
        guard !isStopped() else { throw DocumentStoreError(ByteStoreError.closed(directory: path)) }
        done += 1
        if done % 1000 == 0 {
          progress(
            OnlineCheckProgress(step: .documents, done: UInt64(done), total: UInt64(max(done, names.count))))
        }
        do throws(ByteStoreError) {
          guard try snapshot.read(cursor.ordinal, into: &pooled.buffer) else { continue }
          let name = pooled.buffer.withEntry { UndecodableEntry.name(of: $0, $1, shapes: shapes) }
          if let name { report.addLostDocument(name) }
        } catch {
          guard error.isDamageOrUnreadable else { throw DocumentStoreError(error) }
          report.addLostDocument(NameKey.path(cursor.key())?.description ?? "a document with a long name")
        }
      }
    } catch {
      // The names after a damaged page of this index are unknown.
      guard case .corrupted = error else { throw error }
    }
  }
}

extension NameKey {
  /// The path of a document; nil if the key is invalid, or truncated because the path is long.
  fileprivate static func path(_ stored: RawSpan) -> DocumentPath? {
    guard !StoredKey.isLong(stored), let id = DocumentKey.segmentBytes(stored) else { return nil }
    return DocumentKey.decode([DocumentKey.keyspace] + [UInt8](copying: stored.extracting(droppingFirst: id)))
  }
}
