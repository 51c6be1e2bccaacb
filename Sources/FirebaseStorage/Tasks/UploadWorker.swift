// Uploading: pieces of a source become the content of an object.

import DocumentStore
import Foundation

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

  init(
    _ client: StorageClient, _ path: StoragePath, _ attributes: ObjectAttributes,
    _ open: @escaping () throws(StorageError) -> any UploadBytes
  ) {
    self.client = client
    self.path = path
    self.attributes = attributes
    self.open = open
  }

  /// What is on stable storage; before that it could all be lost again.
  var completed: Int64 { isFinished ? total : Int64(clamping: upload?.bytesSynced ?? 0) }

  var total: Int64 { bytes.map { Int64(clamping: $0.source.byteCount) } ?? -1 }

  func prepare() throws(StorageError) {
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

  func advance() throws(StorageError) -> Bool {
    guard let upload, let bytes else { return false }
    let piece = try bytes.read(Self.pieceBytes, at: upload.byteCount)
    guard !piece.isEmpty else { return false }
    try wrapped { () throws(DocumentStoreError) in try upload.append(piece) }
    return true
  }

  func finish() throws(StorageError) -> StorageMetadata? {
    guard let upload, let bytes else { return nil }
    try bytes.check()
    var object: StoredObject?
    try wrapped { () throws(DocumentStoreError) in
      object = try upload.finish(token: UUID().uuidString.lowercased())
    }
    self.upload = nil
    isFinished = true
    return object.map(StorageMetadata.init)
  }

  func stop() throws(StorageError) {
    guard let upload else { return }
    try wrapped { () throws(DocumentStoreError) in try upload.persist() }
  }

  func discard() {
    upload?.cancel()
    upload = nil
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
