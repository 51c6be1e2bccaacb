// Uploads a source piece by piece as the content of an object.
//
// With a remote, the object is stored locally first. A change is then queued and stays in the queue until the
// remote has the object.

import DocumentStore
import FirebaseCore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

/// The worker of an upload. All methods run on the transfer's queue; only `init` may run elsewhere.
final class UploadWorker: TransferWorker, @unchecked Sendable {
  // The conformance is unchecked, because the mutable state is used only on the transfer's queue.

  private static let pieceBytes = 256 << 10

  let pausesAtOnce = true
  private let client: StorageClient
  private let path: StoragePath
  private let attributes: ObjectAttributes
  private let open: () throws(StorageError) -> any UploadBytes
  /// How long the upload may wait for the remote's response before it is overdue, in microseconds.
  private let timeout: Int64
  /// The source of the upload. Nil when all bytes are stored locally.
  private var bytes: (any UploadBytes)?
  private var byteCount: UInt64?
  private var upload: ObjectUpload?
  /// An earlier, interrupted upload of the same source. Set only while its staged parts are compared with the
  /// source.
  private var earlier: ObjectUpload?
  private var isFinished = false
  /// The queued change and the remote's response to it. Nil without a remote.
  private var queued: Queued?
  /// Whether the upload is overdue. After an overdue upload has failed, its change stays in the queue, unless
  /// the upload is cancelled.
  private var isOverdue = false

  private struct Queued {
    let object: StoredObject
    let number: Int64
    let answer: RemoteAnswer<Result<StoredObject?, BlobSyncError>>
  }

  init(
    _ client: StorageClient, _ path: StoragePath, attributes: ObjectAttributes,
    _ open: @escaping () throws(StorageError) -> any UploadBytes, timeout: Int64
  ) {
    self.client = client
    self.path = path
    self.attributes = attributes
    self.open = open
    self.timeout = timeout
  }

  /// The number of completed bytes. Only bytes on stable storage count, because a crash could lose other
  /// bytes. If the upload waits for a remote, only bytes that the remote has received count.
  var completed: Int64 {
    if isFinished { return total }
    guard client.backend.waitsForRemote else { return Int64(clamping: upload?.bytesSynced ?? 0) }
    return Int64(clamping: queued?.answer.bytes ?? 0)
  }

  var total: Int64 { byteCount.map { Int64(clamping: $0) } ?? -1 }

  func prepare() throws(StorageError) {
    if let queued {
      client.backend.withSync { $0.release(queued.number) }
      return
    }
    guard upload == nil, earlier == nil else { return }
    let bytes: any UploadBytes
    if let known = self.bytes { bytes = known } else { bytes = try open() }
    self.bytes = bytes
    byteCount = bytes.source.byteCount
    let objects = try client.objects()
    try wrapped { () throws(DocumentStoreError) in
      let place = ObjectPath(bucket: path.bucket, name: try ObjectName(path.object))
      try attributes.check()
      earlier = try earlier(place, bytes.source, objects: objects)
      if earlier == nil { upload = objects.upload(to: place, from: bytes.source, attributes: attributes) }
    }
  }

  // MARK: Resuming

  private func earlier(
    _ place: ObjectPath, _ source: UploadSource, objects: ObjectStore
  ) throws(DocumentStoreError) -> ObjectUpload? {
    guard source.byteCount > 0 else { return nil }
    for stored in try objects.uploads(to: place)
    where stored.source == source && !objects.isActive(stored.number) {
      do throws(DocumentStoreError) {
        if let upload = try objects.resume(with: stored) {
          upload.attributes = attributes
          return upload
        }
      } catch {
        // Staged parts that cannot be read are useless, so start a new upload.
      }
      // Remove the record of the upload, which is all that remains of it.
      try objects.cancel(stored)
    }
    return nil
  }

  /// Compares one staged piece with the source. If the piece differs from the source or cannot be read,
  /// discards the staged parts and starts again.
  private func compare(_ earlier: ObjectUpload, _ bytes: any UploadBytes) throws(StorageError) {
    let offset = earlier.byteCount
    do throws(DocumentStoreError) {
      guard let staged = try earlier.rereadStaged() else {
        // All staged parts match the source. They now count as progress.
        try earlier.persist()
        (self.earlier, upload) = (nil, earlier)
        return
      }
      if (try? bytes.read(staged.count, at: offset)) == staged { return }
    } catch {
      // An unreadable piece is treated like a piece that differs.
    }
    earlier.cancel()
    self.earlier = nil
    upload = try client.objects().upload(to: earlier.path, from: bytes.source, attributes: attributes)
  }

  // MARK: Transferring

  func advance() throws(StorageError) -> TransferStep {
    if let queued { return try answer(to: queued) }
    guard let bytes else { return .none }
    if let earlier {
      try compare(earlier, bytes)
      return .more
    }
    guard let upload else { return .none }
    let piece = try bytes.read(Self.pieceBytes, at: upload.byteCount)
    guard piece.isEmpty else {
      try wrapped { () throws(DocumentStoreError) in try upload.append(piece) }
      return .more
    }
    let queued = try client.backend.withSync { sync throws(StorageError) -> Queued in
      try bytes.check()
      return try enqueue(upload, sync)
    }
    guard let queued else { return .none }
    return try answer(to: queued)
  }

  // MARK: With a remote

  private func enqueue(_ upload: ObjectUpload, _ sync: BlobSync) throws(StorageError) -> Queued {
    let answer = RemoteAnswer<Result<StoredObject?, BlobSyncError>>()
    let watcher = BlobSync.Watcher(
      timeout: client.backend.waitsForRemote ? timeout : nil, progress: { answer.progress($0) },
      end: { answer.end($0) })
    var done: (object: StoredObject, change: QueuedChange)?
    try wrapped { () throws(DocumentStoreError) in
      done = try sync.put(upload, token: Self.newToken(), watcher: watcher)
    }
    guard let done else { throw StorageErrors.closed }
    (self.upload, bytes) = (nil, nil)
    let queued = Queued(object: done.object, number: done.change.number, answer: answer)
    self.queued = queued
    return queued
  }

  private func answer(to queued: Queued) throws(StorageError) -> TransferStep {
    guard client.backend.waitsForRemote else { return .none }
    switch queued.answer.value {
    case nil: return .waiting
    case .success?: return .none
    case .failure(let error)?:
      if case .overdue = error { isOverdue = true }
      throw StorageErrors.translate(error, path.bucket, object: path.object)
    }
  }

  func whenChanged(_ wake: @escaping @Sendable () -> Void) {
    if let queued { queued.answer.whenChanged(wake) } else { wake() }
  }

  func hold() { if let queued { client.backend.withSync { $0.hold(queued.number) } } }

  // MARK: Completion

  func finish() throws(StorageError) -> StorageMetadata? {
    if let queued {
      isFinished = true
      if case .success(let object?)? = queued.answer.value { return StorageMetadata(object) }
      return StorageMetadata(queued.object)
    }
    guard let upload, let bytes else { return nil }
    try bytes.check()
    var object: StoredObject?
    try wrapped { () throws(DocumentStoreError) in object = try upload.finish(token: Self.newToken()) }
    (self.upload, self.bytes) = (nil, nil)
    isFinished = true
    return object.map(StorageMetadata.init)
  }

  static func newToken() -> String { UUID().uuidString.lowercased() }

  func stop() throws(StorageError) {
    bytes?.close()
    guard let staged = upload ?? earlier else { return }
    try wrapped { () throws(DocumentStoreError) in try staged.rest() }
  }

  /// Discards the transferred bytes, and cancels a change that is queued for the remote.
  func discard() {
    upload?.cancel()
    earlier?.cancel()
    (upload, earlier, bytes) = (nil, nil, nil)
    if let queued { client.backend.withSync { $0.cancel(queued.number) } }
  }

  func abort() { if !isOverdue { discard() } }

  func leave() {
    upload?.leave()
    earlier?.leave()
    (upload, earlier, bytes) = (nil, nil, nil)
  }

  private func wrapped(_ body: () throws(DocumentStoreError) -> Void) throws(StorageError) {
    do throws(DocumentStoreError) { try body() } catch {
      throw StorageErrors.translate(error, path.bucket, object: path.object)
    }
  }
}
