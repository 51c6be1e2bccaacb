// Writes a content that arrives in pieces, and computes its digest on the way.
//
//   1. memory    while the content is small enough for a pack
//   2. staged    in a numbered file of its own once it is larger, or earlier if it must survive a pause
//   3. finished  its digest is known: `BlobStore.keep` stores it, `discard` drops it
//
// At most 1 MiB and a chunk of it are in memory. A second thread hashes large pieces while this one
// writes them, because both take about the same time.

import Dispatch

/// A complete content that has not been stored yet.
package struct FinishedBlob: Sendable {
  package let id: BlobID
  package let byteCount: UInt64
  let content: Content

  enum Content: Sendable {
    /// The stored form of the content. Space for a frame's head precedes it.
    case memory([UInt8])
    case staged(StagedNumber)
  }
}

/// A writer of one content. Must be used by one thread at a time. The caller ends it with `finish` or
/// `abandon`. Otherwise its staged file stays, and `resume` can continue it.
package final class BlobWriter {
  /// The number of the staged file. It is reserved even if the content has no staged file.
  package let number: StagedNumber
  private let store: BlobStore
  private var digest = SHA256Stream()
  /// Space for a frame's head, followed by the whole content. Nil if the content is too large for a pack.
  private var memory: [UInt8]?
  private var staged: StagedFile?
  package private(set) var byteCount: UInt64 = 0

  /// The minimum size of a piece that is hashed on a second thread. Smaller pieces are hashed on the calling
  /// thread.
  private static let parallelHashBytesMin = 256 << 10

  private static let emptyFrame = [UInt8](repeating: 0, count: BlobFormat.frameHeadBytes)

  fileprivate init(_ store: BlobStore, _ number: StagedNumber) {
    self.number = number
    self.store = store
    memory = Self.emptyFrame
  }

  /// Whether the content has a staged file.
  package var isStaged: Bool { staged != nil }

  /// The number of bytes that would survive a power loss.
  package var bytesSynced: UInt64 { staged?.bytesSynced ?? 0 }

  /// Appends bytes. May also write to the file and sync it. After an error, only `abandon` may be called.
  package func append(_ bytes: RawSpan) throws(ByteStoreError) {
    byteCount += UInt64(bytes.byteCount)
    if byteCount <= UInt64(store.options.packedBytesMax) {
      digest.update(bytes)
      memory?.append(copying: bytes)
      try staged?.append(bytes, syncBytes: store.options.syncBytes)
      return
    }
    let staged = try stage()
    memory = nil
    try hash(bytes, writingTo: staged)
  }

  /// Hashes and writes the bytes in parallel. If no other thread is available, does one after the other.
  private func hash(_ bytes: RawSpan, writingTo staged: StagedFile) throws(ByteStoreError) {
    let syncBytes = store.options.syncBytes
    guard bytes.byteCount >= Self.parallelHashBytesMin else {
      digest.update(bytes)
      return try staged.append(bytes, syncBytes: syncBytes)
    }
    // Each part uses only its own variables until both parts have returned. The parts share only the bytes,
    // which both of them only read.
    nonisolated(unsafe) var stream = digest
    nonisolated(unsafe) var failure: ByteStoreError?
    nonisolated(unsafe) let file = staged
    unsafe bytes.withUnsafeBytes { memory in
      nonisolated(unsafe) let memory = unsafe memory
      DispatchQueue.concurrentPerform(iterations: 2) { part in
        let bytes = unsafe RawSpan(_unsafeBytes: memory)
        // Part 0, which writes, usually runs on the calling thread. No other thread then has to wait for the
        // disk.
        guard part == 0 else { return unsafe stream.update(bytes) }
        do throws(ByteStoreError) {
          try unsafe file.append(bytes, syncBytes: syncBytes)
        } catch {
          unsafe failure = error
        }
      }
    }
    digest = unsafe stream
    if let failure = unsafe failure { throw failure }
  }

  /// Makes the bytes appended so far durable, except for an incomplete chunk. `BlobStore.resume` continues
  /// after the last durable chunk.
  package func persist() throws(ByteStoreError) {
    try stage().sync()
  }

  /// Calls `persist` and closes the file until the next append.
  package func rest() throws(ByteStoreError) {
    try persist()
    staged?.close()
  }

  private func stage() throws(ByteStoreError) -> StagedFile {
    if let staged { return staged }
    let createIfMissing = try StagedFile.make(number, in: store.folder)
    staged = createIfMissing
    if let memory {
      try createIfMissing.append(
        memory.rawSpan.extracting(droppingFirst: Self.emptyFrame.count), syncBytes: store.options.syncBytes)
    }
    return createIfMissing
  }

  /// Completes the content. If the content is staged, its bytes are then on stable storage, but the file does
  /// not have its final name yet.
  package func finish() throws(ByteStoreError) -> FinishedBlob {
    let id = BlobID(digest: digest.digest)
    guard let memory else {
      guard let staged else { preconditionFailure("a content is in memory or staged") }
      try staged.finish(id, byteCount)
      self.staged = nil
      return FinishedBlob(id: id, byteCount: byteCount, content: .staged(number))
    }
    if isStaged { store.discardStaged(number) }
    staged = nil
    var frame = Self.emptyFrame
    var compressor = BlobCompressor()
    let raw = memory.rawSpan.extracting(droppingFirst: Self.emptyFrame.count)
    if !compressor.compress(raw, into: &frame) { frame = memory }
    self.memory = nil
    return FinishedBlob(id: id, byteCount: byteCount, content: .memory(frame))
  }

  /// Deletes everything written.
  package func abandon() {
    if isStaged { store.discardStaged(number) }
    staged = nil
    memory = nil
  }

  // MARK: Resuming

  fileprivate convenience init?(_ store: BlobStore, resuming number: StagedNumber) throws(ByteStoreError) {
    guard let staged = try StagedFile.resume(number, in: store.folder) else { return nil }
    self.init(store, number)
    self.staged = staged
  }

  /// Returns the next chunk of the staged file and rewrites the chunk. Returns nil after the last valid
  /// chunk. Bytes can be appended only after that.
  package func rereadStaged() throws(ByteStoreError) -> [UInt8]? {
    guard let staged, let bytes = try staged.rereadStaged() else { return nil }
    // Sync regularly, because otherwise the first later sync would have to write all chunks.
    if staged.bytesWritten - staged.bytesSynced >= store.options.syncBytes { try staged.sync() }
    digest.update(bytes.rawSpan)
    byteCount += UInt64(bytes.count)
    if byteCount <= UInt64(store.options.packedBytesMax) {
      memory?.append(copying: bytes.rawSpan)
    } else {
      memory = nil
    }
    return bytes
  }
}

extension BlobStore {
  /// Creates a writer for a content. Only the digest of the complete content shows whether the content is
  /// already stored.
  package func writer() -> BlobWriter { BlobWriter(self, newNumber()) }

  /// A unique number.
  package func newNumber() -> RandomID { folder.platform.random.randomID() }

  /// Continues a staged content, possibly after a restart. The caller must call `rereadStaged` until it
  /// returns nil. Returns nil if there is no valid staged file.
  package func resume(_ number: StagedNumber) throws(ByteStoreError) -> BlobWriter? {
    try BlobWriter(self, resuming: number)
  }
}
