// Downloading: the content of an object becomes bytes in memory, or a file.
//
// With a remote, the content is brought here first, unless what is here is right.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

/// Where a download goes. For one thread at a time.
protocol DownloadTarget: AnyObject {
  /// A content of more is not wanted.
  var bytesMax: Int64 { get }
  /// The content has so many bytes. What has come of another one before is nothing of it.
  func begin(_ byteCount: UInt64, _ objects: ObjectStore) throws(StorageError)
  func append(_ bytes: [UInt8]) throws(StorageError)
  /// Has no file open until it is gone on with.
  func close() throws(StorageError)
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
  /// Until all of it is read, or a pause: whoever keeps a task that has ended or is paused keeps no file open.
  private var reader: BlobReader?
  /// The content that what has come so far is of.
  private var content: BlobID?
  /// Once it was opened.
  private var byteCount: UInt64?
  private var offset: UInt64 = 0
  /// With a remote: what it has of the object.
  private var search: Search?
  /// For so many microseconds a remote that cannot be reached is asked again.
  private let patience: Int64

  private struct Search {
    let search: BlobSync.Search
    let answer: RemoteAnswer<Result<BlobSync.Found, BlobSyncError>>
  }

  init(_ client: StorageClient, _ path: StoragePath, _ target: any DownloadTarget, patience: Int64) {
    self.client = client
    self.path = path
    self.target = target
    self.patience = patience
  }

  /// With a remote, what has come from there counts: the way from here is short.
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
    guard let sync = client.sync else { return try open(place, objects) }
    if let search { return sync.release(search.search) }
    let answer = RemoteAnswer<Result<BlobSync.Found, BlobSyncError>>()
    let wanted = BlobSync.FetchRequest(
      fetchesContent: true, bytesMax: UInt64(max(0, target.bytesMax)), patience: patience,
      progress: { answer.progress($0, of: $1) })
    search = Search(search: sync.find(place, wanted) { answer.end($0) }, answer: answer)
  }

  private var notFound: StorageError { StorageErrors.objectNotFound(path.bucket, path.object) }

  private func open(_ place: ObjectPath, _ objects: ObjectStore) throws(StorageError) {
    do throws(DocumentStoreError) {
      reader = try objects.content(at: place)?.reader
    } catch {
      throw StorageErrors.translate(error, path.bucket, path.object)
    }
    guard let reader else { throw notFound }
    // After a pause; but if the object has another content by now, that is begun with.
    guard reader.id != content else { return }
    (content, byteCount, offset) = (reader.id, reader.byteCount, 0)
    try target.begin(reader.byteCount, objects)
  }

  /// False as long as the remote has not answered.
  private func isFound() throws(StorageError) -> Bool {
    guard reader == nil else { return true }
    guard let search else {
      try prepare()
      return reader != nil
    }
    switch search.answer.value {
    case nil: return false
    case .failure(let error)?: throw StorageErrors.translate(error, path.bucket, path.object)
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
    do throws(ByteStoreError) {
      try reader.fill(&piece, at: offset)
    } catch {
      throw StorageErrors.translate(DocumentStoreError(error), path.bucket, path.object)
    }
    try target.append(piece)
    offset += UInt64(piece.count)
    return .more
  }

  func whenNew(_ wake: @escaping @Sendable () -> Void) {
    if let search { search.answer.whenNew(wake) } else { wake() }
  }

  func hold() {
    guard let search else { return }
    client.sync?.hold(search.search)
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
    if let search { client.sync?.giveUp(search.search) }
    reader = nil
    target.discard()
  }

  /// What has come from the remote stays, and is gone on with by whoever downloads the same content next.
  func leave() {
    if let search { client.sync?.stop(search.search) }
    reader = nil
    target.discard()
  }
}

/// Bytes in memory, and not more of them than was allowed.
final class DownloadData: DownloadTarget, @unchecked Sendable {
  // Unchecked: it is filled on the transfer's queue, and read after the transfer's end.

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
