// Downloads to files, which begin as parts beside their target: a record says where, until the part is gone or whole.
//
//   record of a download   __downloads__ / number as 32 hexadecimal digits
//
// The part is the user's disk space: what a dead process left of it is found by the next one.

package import ByteStore
package import DocumentStore

extension ObjectStore {
  private static let folder = "folder"

  private static func path(_ number: RandomID) -> DocumentPath {
    DocumentPath(unchecked: [ReservedPath.downloads, number.description])
  }

  /// A number for a part that will be in `folder`. A store that cannot be written to is no reason not to download.
  package func beginDownload(in folder: String) -> RandomID {
    let number = blobs.newNumber()
    state.activeDownloads.withLock { _ = $0.insert(number) }
    try? note(.set(Self.path(number), StoredMap([(Self.folder, .string(folder))])))
    return number
  }

  /// The part is gone, or has its name.
  package func endDownload(_ number: RandomID) {
    try? note(.delete(Self.path(number)))
    state.activeDownloads.withLock { _ = $0.remove(number) }
  }

  /// A power loss may forget it: nobody waits for the disk.
  func note(_ mutation: Mutation) throws(DocumentStoreError) {
    try store.finish(try store.begin([mutation], durability: .buffered))
  }

  /// Parts that nobody works at, and their folders.
  package func leftDownloads() throws(DocumentStoreError) -> [(number: RandomID, folder: String)] {
    try store.documents(StructuredQuery(.collection(ReservedPath.allDownloads))).compactMap { document in
      guard let number = RandomID(hexadecimal: document.path.id),
        let folder = document.fields[Self.folder]?.plainText,
        !state.activeDownloads.withLock({ $0.contains(number) })
      else { return nil }
      return (number, folder)
    }
  }
}
