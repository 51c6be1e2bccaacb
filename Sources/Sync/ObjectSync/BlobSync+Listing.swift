// What is in a folder, as the remote has it and as the changes that wait leave it.
//
//   entries = those of the remote − what is deleted here + what is put here, of what waits
//   no answer     what is here is better than nothing
//
// A folder that the remote has goes with the last object in it: whether deletions that wait leave any is asked only of
// folders that have such deletions.

internal import ByteStore
import DocumentStore
package import ObjectStore
import OfflineSync

extension BlobSync {
  /// Up to `limit` objects and folders directly in a folder, behind the entry `last`: the `next` of a page before. `end`
  /// is called once, on the scheduler.
  package func list(
    bucket: String, folder: String, after last: String?, limit: Int,
    _ end: @escaping @Sendable (Result<ObjectPage, BlobSyncError>) -> Void
  ) {
    let folder = ListedFolder(bucket: bucket, prefix: folder.isEmpty ? "" : folder + "/")
    scheduler.run { [self] in
      end(Result { () throws(BlobSyncError) in try page(of: folder, after: last, limit) })
    }
  }

  struct ListedFolder {
    let bucket: String
    /// Empty, or with a slash at its end.
    let prefix: String
  }

  private func page(
    of folder: ListedFolder, after last: String?, _ limit: Int
  ) throws(BlobSyncError) -> ObjectPage {
    do throws(BlobSyncError) {
      if let failure { throw failure }
      return try remotePage(of: folder, after: last, limit)
    } catch {
      switch error {
      // A store that nothing can be written to can still be read.
      case .remote(.unavailable), .store: break
      default: throw error
      }
      return try stored { () throws(DocumentStoreError) in
        try objects.list(bucket: folder.bucket, below: folder.prefix, after: last, limit: limit)
      }
    }
  }

  private func remotePage(
    of folder: ListedFolder, after last: String?, _ limit: Int
  ) throws(BlobSyncError) -> ObjectPage {
    let told = try asked { () throws(BlobRemoteError) in
      try remote.list(bucket: folder.bucket, below: folder.prefix, after: last, count: limit)
    }
    let known = told.entries.filter { last?.precedesInUTF8($0) ?? true }
    let end = known.max { $0.precedesInUTF8($1) }
    guard told.isLast || end != nil else {
      throw .remote(.rejected("The remote's list of \(folder.prefix) does not go on."))
    }
    // What lies behind this part is for the next one.
    let waiting = try stored { () throws(DocumentStoreError) in
      try objects.outbox.waiting(
        inBucket: folder.bucket, below: folder.prefix, after: last, upTo: told.isLast ? nil : end)
    }
    var entries: [String] = []
    for entry in known where ObjectEntry.isValid(entry, below: folder.prefix) {
      if try isLeft(entry, by: waiting, folder) { entries.append(entry) }
    }
    for (name, isHere) in waiting where isHere {
      guard let entry = ObjectEntry.text(of: name.text, below: folder.prefix),
        last?.precedesInUTF8(entry) ?? true
      else { continue }
      if told.isLast || end.map({ !$0.precedesInUTF8(entry) }) ?? true { entries.append(entry) }
    }
    let sorted = entries.sortedInUTF8()
    var page = ObjectPage(entries: Array(sorted.prefix(limit)))
    page.next = sorted.count > limit ? sorted[limit - 1] : told.isLast ? nil : end
    return page
  }

  /// Whether an entry of the remote is there once what waits has happened.
  private func isLeft(
    _ entry: String, by waiting: [ObjectName: Bool], _ folder: ListedFolder
  ) throws(BlobSyncError) -> Bool {
    guard ObjectEntry.isFolder(entry) else {
      return try stored { () throws(DocumentStoreError) in waiting[try ObjectName(entry)] ?? true }
    }
    let inside = waiting.filter { $0.key.text.utf8.starts(with: entry.utf8) }
    guard !inside.isEmpty, !inside.values.contains(true) else { return true }
    var last: String?
    while true {
      let after = last
      let told = try asked { () throws(BlobRemoteError) in
        try remote.list(bucket: folder.bucket, below: entry, after: after, count: inside.count + 1)
      }
      let inner = told.entries.filter { ObjectEntry.isValid($0, below: entry) }
      for name in inner where try isLeft(name, by: inside, folder) { return true }
      // A list of names that are none could go on for ever.
      guard told.isLast || !inner.isEmpty else {
        throw .remote(.rejected("The remote's list of \(entry) does not go on."))
      }
      guard !told.isLast, let end = told.entries.last, after?.precedesInUTF8(end) ?? true else {
        return false
      }
      last = end
    }
  }
}
