// What keeps a store of documents well: looking at its numbers, backing it up, getting dead space back.

package import ByteStore

extension DocumentStore {
  /// The store's own: a backup has another one.
  package var storeID: RandomID { bytes.storeID }

  /// What the store holds and how it is doing. Nothing is read from disk for it.
  package var statistics: Statistics { bytes.statistics }

  /// The space that the store takes, spare files included.
  public var byteCount: UInt64 { bytes.statistics.directoryBytes }

  /// Of these, the space that documents take that have moved to segments, compressed.
  public var documentByteCount: UInt64 { bytes.statistics.segments.liveBytes }

  /// Writes the documents as of one commit to `directory`, a new or an empty one, while reads and commits go
  /// on. When it returns, the backup is a store on stable storage of which every byte was read back: to
  /// restore it, copy its directory. If it fails, `directory` holds no store.
  ///
  /// Throws `unsuitableDirectory` if the directory holds anything, `corrupted` if a document of this store
  /// cannot be read, and `full` or `failed` if the backup cannot be written.
  public func backup(to directory: String) throws(DocumentStoreError) {
    try backup(to: directory) { _ in }
  }

  /// The same; `progress` is called now and then, in this thread.
  @discardableResult
  package func backup(
    to directory: String, progress: (BackupProgress) -> Void
  ) throws(DocumentStoreError) -> BackupReport {
    do throws(ByteStoreError) {
      return try bytes.backup(to: directory, progress: progress)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Returns when all commits so far are on stable storage, buffered ones too.
  package func sync() throws(DocumentStoreError) {
    do throws(ByteStoreError) {
      try bytes.commit(Batch(stamp: bytes.lastStamp), durability: .synced)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Moves all commits so far from logs to segments, and writes every segment anew of which more than a
  /// twentieth is dead, so that the space comes back. Segments that cannot be read are left alone and are in
  /// the statistics from then on. Nothing is lost if it fails.
  public func compact() throws(DocumentStoreError) {
    do throws(ByteStoreError) { try bytes.flush(.everything) } catch { throw DocumentStoreError(error) }
  }
}
