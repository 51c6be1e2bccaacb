// Lists a folder: the remote's listing with the pending changes applied.
//
//   entries = those of the remote − pending deletions + pending uploads
//   if the remote does not answer, the local listing is the answer
//
// A folder of the remote disappears with its last object. The remote is asked for the contents of a
// subfolder only if the subfolder has pending deletions.

internal import ByteStore
import DocumentStore
package import ObjectStore
import OfflineSync

extension BlobSync {
  /// Lists up to `limit` objects and folders directly in a folder, after the entry `last`, which is the
  /// `next` of the previous page. `end` is called once, on the scheduler.
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
    /// Empty, or ends with a slash.
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
      // A store that refuses writes can still be read.
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
    let told = try callRemote { () throws(BlobRemoteError) in
      try remote.list(bucket: folder.bucket, below: folder.prefix, after: last, count: limit)
    }
    let known = told.entries.filter { last?.precedesInUTF8($0) ?? true }
    let end = known.max { $0.precedesInUTF8($1) }
    guard told.isLast || end != nil else {
      throw .remote(.rejected("The remote's list of \(folder.prefix) does not go on."))
    }
    // Pending changes after the end of this page belong to the next one.
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

  /// Whether an entry of the remote still exists once the pending changes are applied.
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
      let told = try callRemote { () throws(BlobRemoteError) in
        try remote.list(bucket: folder.bucket, below: entry, after: after, count: inside.count + 1)
      }
      let inner = told.entries.filter { ObjectEntry.isValid($0, below: entry) }
      for name in inner where try isLeft(name, by: inside, folder) { return true }
      // Without this check, pages of invalid names could continue forever.
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
