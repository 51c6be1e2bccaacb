// What keeps a store of documents well: looking at its numbers, backing it up, getting dead space back.

package import ByteStore
package import StoreTools

extension DocumentStore {
  /// The store's own: a backup has another one.
  package var storeID: RandomID { bytes.storeID }

  /// What the store holds and how it is doing. Nothing is read from disk for it.
  package var statistics: Statistics { bytes.statistics }

  /// The space that the store takes, spare files included, but for the contents of files.
  public var byteCount: UInt64 { bytes.statistics.directoryBytes }

  /// Of these, the space that documents take: compressed, but for those that were written last and are in logs only.
  public var documentByteCount: UInt64 {
    let statistics = bytes.statistics
    return statistics.segments.liveBytes + UInt64(statistics.tailBytes)
  }

  /// What there is beside the documents: the contents of objects. Asks the system for the size of each of their files.
  package func contentStatistics() throws(DocumentStoreError) -> ContentStatistics {
    let contents = try count(StructuredQuery(.collection(ReservedPath.allBlobs)))
    let usage = try contentUsage()
    return ContentStatistics(contents: contents, files: usage.files, bytes: usage.bytes)
  }

  /// The same without how many contents there are: no index is looked at.
  package func contentByteCount() throws(DocumentStoreError) -> UInt64 { try contentUsage().bytes }

  private func contentUsage() throws(DocumentStoreError) -> BlobStore.Usage {
    do throws(ByteStoreError) { return try bytes.blobs.usage() } catch { throw DocumentStoreError(error) }
  }

  /// Writes the documents as of one commit, and the contents of files, to `directory`, a new or an empty one, while
  /// reads and commits go on. When it returns, the backup is a store on stable storage of which every document and
  /// every content of a file was read back: to restore it, copy its directory. If it fails, `directory` holds no store.
  ///
  /// A document that is damaged where no checksum tells, so that it cannot be decoded, is copied as it is.
  ///
  /// Throws `unsuitableDirectory` if the directory holds anything or lies in the store's own, `corrupted` if a document
  /// or a content of this store cannot be read, and `full` or `failed` if the backup cannot be written.
  public func backup(to directory: String) throws(DocumentStoreError) {
    try backup(to: directory) { _ in }
  }

  /// The same; `progress` is called now and then, in this thread.
  @discardableResult
  package func backup(
    to directory: String, progress: (BackupProgress) -> Void
  ) throws(DocumentStoreError) -> BackupReport {
    do throws(ByteStoreError) {
      let shapes = indexes.shapes
      return try bytes.backup(
        to: directory, progress: progress, blobNamer: { BlobRecord.blob($0, $1, shapes) },
        undecodableNamer: { UndecodableEntry.name(of: $0, $1, shapes.table) })
    } catch {
      if error.isDamageOrUnreadable { attachments.blobsFoundDamaged() }
      throw DocumentStoreError(error)
    }
  }

  /// How many sets of names documents share, nested maps among them.
  package var shapeCount: Int { indexes.shapes.table.shapes.count { $0 != nil } }

  /// Returns when all commits so far are on stable storage, buffered ones too.
  package func sync() throws(DocumentStoreError) {
    do throws(ByteStoreError) {
      try bytes.commit(Batch(stamp: bytes.lastStamp), durability: .synced)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Moves all commits so far from logs to segments, and writes every segment anew of which more than a
  /// twentieth is dead, so that the space comes back. What is kept for later, logs and the reserve for a full disk, is
  /// made small. Segments that cannot be read are left alone and are in
  /// the statistics from then on. Nothing is lost if it fails.
  public func compact() throws(DocumentStoreError) {
    do throws(ByteStoreError) { try bytes.flush(.everything) } catch { throw DocumentStoreError(error) }
  }
}

/// The contents of objects, and what they take.
package struct ContentStatistics: Hashable, Sendable {
  /// Objects with equal contents have one.
  package var contents: Int
  /// Packs, contents with a file of their own, and those on their way.
  package var files: Int
  package var bytes: UInt64
}
