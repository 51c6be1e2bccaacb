// Uploading: pieces of a source become the content of an object.
//
// With a remote, the object is here then, and a change waits until the remote has it.

import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

/// For the transfer's queue, but for what it was made with.
final class UploadWorker: TransferWorker, @unchecked Sendable {
  // Unchecked: everything that changes is touched on the transfer's queue alone.

  private static let pieceBytes = 256 << 10

  let pausesAtOnce = true
  private let client: StorageClient
  private let path: StoragePath
  private let attributes: ObjectAttributes
  private let open: () throws(StorageError) -> any UploadBytes
  private var bytes: (any UploadBytes)?
  private var upload: ObjectUpload?
  private var isFinished = false
  /// With a remote: the change that waits, and what becomes of it.
  private var queued: Queued?

  private struct Queued {
    let object: StoredObject
    let number: Int64
    let answer: RemoteAnswer<Result<StoredObject?, BlobSyncError>>
  }

  init(
    _ client: StorageClient, _ path: StoragePath, _ attributes: ObjectAttributes,
    _ open: @escaping () throws(StorageError) -> any UploadBytes
  ) {
    self.client = client
    self.path = path
    self.attributes = attributes
    self.open = open
  }

  /// What is on stable storage; before that it could all be lost again. With a remote that is waited for, what that
  /// has.
  var completed: Int64 {
    if isFinished { return total }
    guard client.waitsForRemote else { return Int64(clamping: upload?.bytesSynced ?? 0) }
    return Int64(clamping: queued?.answer.bytes ?? 0)
  }

  var total: Int64 { bytes.map { Int64(clamping: $0.source.byteCount) } ?? -1 }

  func prepare() throws(StorageError) {
    if let queued {
      client.sync?.release(queued.number)
      return
    }
    guard upload == nil else { return }
    let bytes: any UploadBytes
    if let known = self.bytes { bytes = known } else { bytes = try open() }
    self.bytes = bytes
    let objects = try client.objects()
    try wrapped { () throws(DocumentStoreError) in
      let place = ObjectPath(bucket: path.bucket, name: try ObjectName(path.object))
      try attributes.check()
      upload = try resumed(place, bytes, objects) ?? objects.upload(to: place, from: bytes.source, attributes)
    }
  }

  /// An upload of the same source to the same object that was left, or cut off.
  private func resumed(
    _ place: ObjectPath, _ bytes: any UploadBytes, _ objects: ObjectStore
  ) throws(DocumentStoreError) -> ObjectUpload? {
    guard bytes.source.byteCount > 0 else { return nil }
    for stored in try objects.uploads(inBucket: path.bucket)
    where stored.path == place && stored.source == bytes.source && !objects.isActive(stored.number) {
      var isSame = true
      var offset: UInt64 = 0
      let upload = try objects.resume(stored) { staged in
        isSame = isSame && (try? bytes.read(staged.count, at: offset)) == staged
        offset += UInt64(staged.count)
      }
      guard let upload else {
        // Nothing is left of it but its record.
        try objects.cancel(stored)
        continue
      }
      upload.attributes = attributes
      if isSame { return upload }
      upload.cancel()
    }
    return nil
  }

  func advance() throws(StorageError) -> TransferStep {
    if let queued { return try answer(to: queued) }
    guard let upload, let bytes else { return .none }
    let piece = try bytes.read(Self.pieceBytes, at: upload.byteCount)
    guard piece.isEmpty else {
      try wrapped { () throws(DocumentStoreError) in try upload.append(piece) }
      return .more
    }
    guard let sync = client.sync else { return .none }
    try bytes.check()
    return try answer(to: try enqueue(upload, sync))
  }

  // MARK: With a remote

  private func enqueue(_ upload: ObjectUpload, _ sync: BlobSync) throws(StorageError) -> Queued {
    let answer = RemoteAnswer<Result<StoredObject?, BlobSyncError>>()
    let watcher = BlobSync.Watcher(progress: { answer.progress($0) }, end: { answer.end($0) })
    var done: (object: StoredObject, change: QueuedChange)?
    try wrapped { () throws(DocumentStoreError) in
      done = try sync.put(upload, token: Self.newToken(), watcher)
    }
    guard let done else { throw StorageErrors.closed }
    self.upload = nil
    let queued = Queued(object: done.object, number: done.change.number, answer: answer)
    self.queued = queued
    return queued
  }

  private func answer(to queued: Queued) throws(StorageError) -> TransferStep {
    guard client.waitsForRemote else { return .none }
    switch queued.answer.value {
    case nil: return .waiting
    case .success?: return .none
    case .failure(let error)?: throw StorageErrors.translate(error, path.bucket, path.object)
    }
  }

  func whenNew(_ wake: @escaping @Sendable () -> Void) {
    if let queued { queued.answer.whenNew(wake) } else { wake() }
  }

  func hold() { if let queued { client.sync?.hold(queued.number) } }

  // MARK: The end

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
    self.upload = nil
    isFinished = true
    return object.map(StorageMetadata.init)
  }

  private static func newToken() -> String { UUID().uuidString.lowercased() }

  func stop() throws(StorageError) {
    guard let upload else { return }
    try wrapped { () throws(DocumentStoreError) in try upload.persist() }
  }

  /// Of what waits for a remote, too.
  func discard() {
    upload?.cancel()
    upload = nil
    if let queued { client.sync?.cancel(queued.number) }
  }

  func leave() {
    upload?.leave()
    upload = nil
  }

  private func wrapped(_ body: () throws(DocumentStoreError) -> Void) throws(StorageError) {
    do throws(DocumentStoreError) { try body() } catch {
      throw StorageErrors.translate(error, path.bucket, path.object)
    }
  }
}
