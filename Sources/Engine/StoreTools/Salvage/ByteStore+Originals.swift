// The files that a salvage has set aside in the directory of a store.

package import ByteStore

extension ByteStore {
  /// Whether the originals of a salvage are still there, which may have entries that the store has not.
  package func hasOriginals() throws(ByteStoreError) -> Bool {
    let names: [String]
    do throws(SystemFailure) { names = try directory.names() } catch { throw .system(error) }
    return names.contains { name in
      guard let original = StoreFile.setAsideParts(of: name)?.original else { return false }
      return StoreFile.logNumber(of: original) != nil || StoreFile.isSegmentOrCheckpoint(original)
    }
  }
}
