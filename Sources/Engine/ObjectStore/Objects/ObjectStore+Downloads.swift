// Records of partial files of downloads.
//
// A download starts as a partial file next to its target. A record locates the file until it is complete or
// gone.
//
//   record of a download   __downloads__ / number as 32 hexadecimal digits
//
// Partial files take the user's disk space, so the next process finds and removes the partial files of a dead
// process.

package import ByteStore
package import DocumentStore

extension ObjectStore {
  private static let folder = "folder"

  private static func path(_ number: RandomID) -> DocumentPath {
    DocumentPath(unchecked: [ReservedPath.downloads, number.description])
  }

  /// Returns a number for a partial file in `folder`, and writes a record of the download. If the store is
  /// not writable, the download proceeds without a record.
  package func beginDownload(in folder: String) -> RandomID {
    let number = blobs.newNumber()
    state.activeDownloads.withLock { _ = $0.insert(number) }
    try? note(.set(Self.path(number), StoredMap([(Self.folder, .string(folder))])))
    return number
  }

  /// Called after the partial file was removed, or renamed to its target.
  package func endDownload(_ number: RandomID) {
    try? note(.delete(Self.path(number)))
    state.activeDownloads.withLock { _ = $0.remove(number) }
  }

  /// Commits without waiting for the disk. A power loss can drop the commit.
  func note(_ mutation: Mutation) throws(DocumentStoreError) {
    try store.finish(try store.begin([mutation], durability: .buffered))
  }

  /// Partial files that no thread works on, with their folders.
  package func abandonedDownloads() throws(DocumentStoreError) -> [(number: RandomID, folder: String)] {
    try store.documents(StructuredQuery(.collection(ReservedPath.allDownloads))).compactMap { document in
      guard let number = RandomID(hexadecimal: document.path.id),
        let folder = document.fields[Self.folder]?.plainText,
        !state.activeDownloads.withLock({ $0.contains(number) })
      else { return nil }
      return (number, folder)
    }
  }
}
