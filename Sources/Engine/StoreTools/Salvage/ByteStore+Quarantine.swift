// Detects files that a salvage put into quarantine.

package import ByteStore

extension ByteStore {
  /// Whether original files of a salvage are still in quarantine. They may contain entries that the
  /// store lacks.
  package func hasQuarantinedOriginals() throws(ByteStoreError) -> Bool {
    let names: [String]
    do throws(SystemFailure) { names = try directory.names() } catch { throw .system(error) }
    return names.contains { name in
      guard let original = StoreFile.quarantineParts(of: name)?.original else { return false }
      return StoreFile.logNumber(of: original) != nil || StoreFile.isSegmentOrCheckpoint(original)
    }
  }
}
