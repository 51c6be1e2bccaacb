// A content that comes piece by piece, hashed on the way.
//
//   1. memory   as long as it is small enough for a pack
//   2. staged   from then on in a file of its own, under a number; or before, if it has to survive a pause
//   3. finished its digest is known: `BlobStore.keep` gives it a place, `discard` lets go of it
//
// Nothing holds more of it in memory than 1 MiB and a chunk. Large pieces are hashed by another thread while this one
// writes them: either takes about as long as the other.

import Dispatch

/// A content that is complete, and has no place yet.
package struct FinishedBlob: Sendable {
  package let id: BlobID
  package let byteCount: UInt64
  let content: Content

  enum Content: Sendable {
    /// As it is stored, behind room for a frame's head.
    case memory([UInt8])
    case staged(StagedNumber)
  }
}

/// For one thread at a time. Ends with `finish` or `abandon`; without either, its staged file stays for `resume`.
package final class BlobWriter {
  /// Under which the content is staged, if it comes to that.
  package let number: StagedNumber
  private let store: BlobStore
  private var digest = SHA256Stream()
  /// Room for a frame's head, and then all of the content; nil once it is too long.
  private var memory: [UInt8]?
  private var staged: StagedFile?
  package private(set) var byteCount: UInt64 = 0

  /// Smaller pieces are not worth another thread.
  private static let bytesToShare = 256 << 10

  private static let noContent = [UInt8](repeating: 0, count: BlobFormat.frameHeadBytes)

  fileprivate init(_ store: BlobStore, _ number: StagedNumber) {
    self.number = number
    self.store = store
    memory = Self.noContent
  }

  /// Not only in memory.
  package var isStaged: Bool { staged != nil }

  /// What would survive a power loss.
  package var bytesSynced: UInt64 { staged?.bytesSynced ?? 0 }

  /// May write and sync. If it throws, `abandon` is all that is left to do.
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

  /// Both at once, or on this thread one after the other if no other thread comes round.
  private func hash(_ bytes: RawSpan, writingTo staged: StagedFile) throws(ByteStoreError) {
    let syncBytes = store.options.syncBytes
    guard bytes.byteCount >= Self.bytesToShare else {
      digest.update(bytes)
      return try staged.append(bytes, syncBytes: syncBytes)
    }
    // Each of these is one part's until both have returned, but for the bytes, which both only read.
    nonisolated(unsafe) var stream = digest
    nonisolated(unsafe) var failure: ByteStoreError?
    nonisolated(unsafe) let file = staged
    unsafe bytes.withUnsafeBytes { memory in
      nonisolated(unsafe) let memory = unsafe memory
      DispatchQueue.concurrentPerform(iterations: 2) { part in
        let bytes = unsafe RawSpan(_unsafeBytes: memory)
        // The first part is the caller's most often: other threads are not kept waiting for a disk.
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

  /// Puts what there is on stable storage, but for the last part of a chunk: `BlobStore.resume` goes on from there.
  package func persist() throws(ByteStoreError) {
    try stage().sync()
  }

  /// The same, and has no file open until it is gone on with.
  package func rest() throws(ByteStoreError) {
    try persist()
    staged?.close()
  }

  private func stage() throws(ByteStoreError) -> StagedFile {
    if let staged { return staged }
    let made = try StagedFile.make(number, in: store.folder)
    staged = made
    if let memory {
      try made.append(
        memory.rawSpan.extracting(droppingFirst: Self.noContent.count), syncBytes: store.options.syncBytes)
    }
    return made
  }

  /// The content is complete. A staged one is on stable storage then, though not under its name.
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
    var frame = Self.noContent
    var compressor = BlobCompressor()
    let raw = memory.rawSpan.extracting(droppingFirst: Self.noContent.count)
    if !compressor.compress(raw, into: &frame) { frame = memory }
    self.memory = nil
    return FinishedBlob(id: id, byteCount: byteCount, content: .memory(frame))
  }

  /// Leaves nothing of it.
  package func abandon() {
    if isStaged { store.discardStaged(number) }
    staged = nil
    memory = nil
  }

  // MARK: Going on

  fileprivate convenience init?(_ store: BlobStore, resuming number: StagedNumber) throws(ByteStoreError) {
    guard let staged = try StagedFile.resume(number, in: store.folder) else { return nil }
    self.init(store, number)
    self.staged = staged
  }

  /// The next chunk of what was staged before, which is written once more; nil where the sound ones end. Until then
  /// nothing can be appended.
  package func regain() throws(ByteStoreError) -> [UInt8]? {
    guard let staged, let bytes = try staged.regain() else { return nil }
    // Else the first sync would be of all of it.
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
  /// A new content, or one that is there already; only its digest tells.
  package func writer() -> BlobWriter { BlobWriter(self, newNumber()) }

  /// One that nobody else has.
  package func newNumber() -> RandomID { folder.platform.random.randomID() }

  /// Goes on with a content that was staged, before a restart perhaps, once `regain` has given back what is sound of it.
  /// Nil if nothing is.
  package func resume(_ number: StagedNumber) throws(ByteStoreError) -> BlobWriter? {
    try BlobWriter(self, resuming: number)
  }
}
