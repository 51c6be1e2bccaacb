// Downloads the content of an object into memory or a file.
//
// With a remote, the content is fetched first, unless the local copy is current.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

/// The destination of a download. Used by one thread at a time.
protocol DownloadTarget: AnyObject {
  /// The maximum size. Larger contents are rejected.
  var bytesMax: Int64 { get }
  /// Starts the download of a content of `byteCount` bytes. Discards all bytes of an earlier content.
  func begin(_ byteCount: UInt64, _ objects: ObjectStore) throws(StorageError)
  func append(_ bytes: [UInt8]) throws(StorageError)
  /// Closes the file. The next call that writes opens it again.
  func close() throws(StorageError)
  func finish() throws(StorageError)
  /// Removes everything written so far.
  func discard()
}

/// The worker of a download. All methods run on the transfer's queue; only `init` may run elsewhere.
final class DownloadWorker: TransferWorker, @unchecked Sendable {
  // The conformance is unchecked, because the mutable state is used only on the transfer's queue.

  private static let pieceBytes = 1 << 20

  let pausesAtOnce = false
  private let client: StorageClient
  private let path: StoragePath
  private let target: any DownloadTarget
  /// The reader of the content. Nil after the last read and during a pause, so that a finished or paused task
  /// keeps no file open.
  private var reader: BlobReader?
  /// The content that the bytes received so far belong to.
  private var content: BlobID?
  /// The size of the content; nil until it is opened.
  private var byteCount: UInt64?
  private var offset: UInt64 = 0
  /// The search for the object at the remote; nil without a remote.
  private var search: Search?
  /// How long to retry when the remote is unreachable, in microseconds.
  private let timeout: Int64

  private struct Search {
    let search: BlobSync.Search
    let answer: RemoteAnswer<Result<BlobSync.Found, BlobSyncError>>
  }

  init(_ client: StorageClient, _ path: StoragePath, target: any DownloadTarget, timeout: Int64) {
    self.client = client
    self.path = path
    self.target = target
    self.timeout = timeout
  }

  /// The number of bytes completed. With a remote, bytes count as completed when they have been fetched,
  /// because the copy to the destination takes little time.
  var completed: Int64 {
    let bytes = max(offset, search?.answer.bytes ?? 0)
    return total < 0 ? 0 : min(total, Int64(clamping: bytes))
  }

  var total: Int64 { (byteCount ?? search?.answer.total).map { Int64(clamping: $0) } ?? -1 }

  func prepare() throws(StorageError) {
    guard reader == nil else { return }
    let objects = try client.objects()
    guard let name = try? ObjectName(path.object) else { throw notFound }
    let place = ObjectPath(bucket: path.bucket, name: name)
    if let search {
      client.backend.withSync { $0.release(search.search) }
      return
    }
    search = client.backend.withSync { beginSearch(for: place, $0) }
    if search == nil { try open(place, objects) }
  }

  private func beginSearch(for place: ObjectPath, _ sync: BlobSync) -> Search {
    let answer = RemoteAnswer<Result<BlobSync.Found, BlobSyncError>>()
    let wanted = BlobSync.FetchRequest(
      fetchesContent: true, bytesMax: UInt64(max(0, target.bytesMax)), timeout: timeout,
      progress: { answer.progress($0, of: $1) })
    return Search(search: sync.find(place, wanted) { answer.end($0) }, answer: answer)
  }

  private var notFound: StorageError { StorageErrors.objectNotFound(path.bucket, path.object) }

  private func open(_ place: ObjectPath, _ objects: ObjectStore) throws(StorageError) {
    do throws(DocumentStoreError) {
      reader = try objects.content(at: place)?.reader
    } catch {
      throw StorageErrors.translate(error, path.bucket, object: path.object)
    }
    guard let reader else { throw notFound }
    // After a pause, continue if the content is unchanged. If the object has a new content, start from the
    // beginning of the new content.
    guard reader.id != content else { return }
    (content, byteCount, offset) = (reader.id, reader.byteCount, 0)
    try target.begin(reader.byteCount, objects)
  }

  /// Opens the object if it has been found. Returns false until the remote has responded.
  private func isFound() throws(StorageError) -> Bool {
    guard reader == nil else { return true }
    guard let search else {
      try prepare()
      return reader != nil
    }
    switch search.answer.value {
    case nil: return false
    case .failure(let error)?: throw StorageErrors.translate(error, path.bucket, object: path.object)
    case .success(.here(let object))?: try open(object.path, try client.objects())
    case .success(.remoteOnly(let object))?:
      throw .downloadSizeExceeded(total: Int64(clamping: object.byteCount), maxSize: target.bytesMax)
    case .success(.absent)?: throw notFound
    }
    return true
  }

  func advance() throws(StorageError) -> TransferStep {
    guard try isFound() else { return .waiting }
    guard let reader, offset < reader.byteCount else { return .none }
    var piece = [UInt8](repeating: 0, count: Int(min(UInt64(Self.pieceBytes), reader.byteCount - offset)))
    do throws(DocumentStoreError) {
      try ObjectStore.fill(&piece, from: reader, at: offset)
    } catch {
      throw StorageErrors.translate(error, path.bucket, object: path.object)
    }
    try target.append(piece)
    offset += UInt64(piece.count)
    return .more
  }

  func whenChanged(_ wake: @escaping @Sendable () -> Void) {
    if let search { search.answer.whenChanged(wake) } else { wake() }
  }

  func hold() {
    guard let search else { return }
    client.backend.withSync { $0.hold(search.search) }
    search.answer.wakeNow()
  }

  func finish() throws(StorageError) -> StorageMetadata? {
    try target.finish()
    reader = nil
    return nil
  }

  func stop() throws(StorageError) {
    reader = nil
    try target.close()
  }

  func discard() {
    if let search { client.backend.withSync { $0.giveUp(search.search) } }
    reader = nil
    target.discard()
  }

  /// Stops the download and keeps the bytes that were fetched from the remote. The next download of the same
  /// content continues from these bytes.
  func leave() {
    if let search { client.backend.withSync { $0.stop(search.search) } }
    reader = nil
    target.discard()
  }
}

/// A destination in memory. It accepts at most `bytesMax` bytes.
final class DownloadData: DownloadTarget, @unchecked Sendable {
  // The conformance is unchecked, because `data` is written on the transfer's queue and read only after the
  // end of the transfer.

  let bytesMax: Int64
  private(set) var data = Data()

  init(bytesMax: Int64) { self.bytesMax = bytesMax }

  func begin(_ byteCount: UInt64, _ objects: ObjectStore) throws(StorageError) {
    let total = Int64(clamping: byteCount)
    guard total <= bytesMax else { throw .downloadSizeExceeded(total: total, maxSize: bytesMax) }
    data = Data()
    data.reserveCapacity(Int(total))
  }

  func append(_ bytes: [UInt8]) throws(StorageError) { data.append(contentsOf: bytes) }

  func close() throws(StorageError) {}

  func finish() throws(StorageError) {}

  func discard() { data = Data() }
}
