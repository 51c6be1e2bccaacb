// Downloading: the content of an object becomes bytes in memory, or a file.

import ByteStore
import DocumentStore
import Foundation

/// Where a download goes. For one thread at a time.
protocol DownloadTarget: AnyObject {
  /// The content has so many bytes.
  func begin(_ byteCount: UInt64, _ objects: ObjectStore) throws(StorageError)
  func append(_ bytes: [UInt8]) throws(StorageError)
  func finish() throws(StorageError)
  /// Leaves nothing.
  func discard()
}

/// For the transfer's queue, but for what it was made with.
final class DownloadWorker: TransferWorker, @unchecked Sendable {
  // Unchecked: everything that changes is touched on the transfer's queue alone.

  private static let pieceBytes = 1 << 20

  let pausesAtOnce = false
  private let client: StorageClient
  private let path: StoragePath
  private let target: any DownloadTarget
  private var reader: BlobReader?
  private var offset: UInt64 = 0

  init(_ client: StorageClient, _ path: StoragePath, _ target: any DownloadTarget) {
    self.client = client
    self.path = path
    self.target = target
  }

  var completed: Int64 { Int64(clamping: offset) }

  var total: Int64 { reader.map { Int64(clamping: $0.byteCount) } ?? -1 }

  func prepare() throws(StorageError) {
    guard reader == nil else { return }
    let objects = try client.objects()
    do throws(DocumentStoreError) {
      guard let name = try? ObjectName(path.object),
        let found = try objects.content(at: ObjectPath(bucket: path.bucket, name: name))
      else { throw .notFound(path.object) }
      reader = found.reader
    } catch {
      throw StorageErrors.translate(error, path.bucket, path.object)
    }
    try target.begin(reader?.byteCount ?? 0, objects)
  }

  func advance() throws(StorageError) -> Bool {
    guard let reader, offset < reader.byteCount else { return false }
    var piece = [UInt8](repeating: 0, count: Int(min(UInt64(Self.pieceBytes), reader.byteCount - offset)))
    do throws(ByteStoreError) {
      try reader.fill(&piece, at: offset)
    } catch {
      throw StorageErrors.translate(DocumentStoreError(error), path.bucket, path.object)
    }
    try target.append(piece)
    offset += UInt64(piece.count)
    return true
  }

  func finish() throws(StorageError) -> StorageMetadata? {
    try target.finish()
    return nil
  }

  func stop() throws(StorageError) {}

  func discard() { target.discard() }

  func leave() { target.discard() }
}

/// Bytes in memory, and not more of them than was allowed.
final class DownloadData: DownloadTarget, @unchecked Sendable {
  // Unchecked: it is filled on the transfer's queue, and read after the transfer's end.

  private let bytesMax: Int64
  private(set) var data = Data()

  init(bytesMax: Int64) { self.bytesMax = bytesMax }

  func begin(_ byteCount: UInt64, _ objects: ObjectStore) throws(StorageError) {
    let total = Int64(clamping: byteCount)
    guard total <= bytesMax else { throw .downloadSizeExceeded(total: total, maxSize: bytesMax) }
    data.reserveCapacity(Int(total))
  }

  func append(_ bytes: [UInt8]) throws(StorageError) { data.append(contentsOf: bytes) }

  func finish() throws(StorageError) {}

  func discard() { data = Data() }
}
