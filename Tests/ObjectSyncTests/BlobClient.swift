// A client of a blob remote, with a simulated disk and virtual time.

import ByteStore
import DocumentStore
import Harness
import ObjectStore
import ObjectSync
import OfflineSync
import Testing

/// An app with its disk and its open store.
final class BlobClient {
  let disk: SimulatedDisk
  /// Selects the random sequence of the process.
  let life: UInt64
  let scheduler = VirtualScheduler()
  let remote: any BlobRemote
  let store: DocumentStore
  let sync: BlobSync
  var objects: ObjectStore { store.objects }

  init(
    _ remote: any BlobRemote, _ disk: SimulatedDisk = SimulatedDisk(),
    _ attachment: RemoteAttachment = .refuse, life: UInt64 = 0
  ) throws {
    self.disk = disk
    self.remote = remote
    self.life = life
    store = try Self.open(disk, life: life)
    sync = try BlobSync.attach(remote, to: store.objects, attachment: attachment, scheduler: scheduler)
  }

  static func open(_ disk: SimulatedDisk, life: UInt64 = 0) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.blobs.packedBytesMax = 2000
    return try DocumentStore.open(
      "/store", options: options, platform: disk.platform(seed: life * 1_000_003 + 1))
  }

  /// Reopens the disk in a new process after a power loss.
  func afterPowerLoss() throws -> BlobClient {
    try BlobClient(
      remote, SimulatedDisk(disk.image.after(.powerLoss(.nothing, seed: 1))), life: life + 1)
  }

  func upload(_ bytes: [UInt8], _ name: String) throws -> ObjectUpload {
    let source = UploadSource(file: nil, byteCount: UInt64(bytes.count), modified: 0)
    let upload = objects.upload(to: try path(name), from: source, attributes: ObjectAttributes())
    for start in stride(from: 0, to: bytes.count, by: 100_000) {
      try upload.append(Array(bytes[start..<min(bytes.count, start + 100_000)]))
    }
    return upload
  }

  func path(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: "bucket", name: try ObjectName(name))
  }

  func content(_ name: String) throws -> [UInt8]? {
    try objects.content(at: path(name))?.reader.readAll()
  }

  /// Searches for an object and fetches its content.
  func find(_ name: String) throws -> Result<[UInt8]?, BlobSyncError> {
    let answer = Locked<Result<BlobSync.Found, BlobSyncError>?>(nil)
    sync.find(try path(name), BlobSync.FetchRequest(fetchesContent: true)) { result in
      answer.withLock { $0 = result }
    }
    scheduler.play(for: 0)
    switch try #require(answer.withLock { $0 }) {
    case .success(.here): return .success(try content(name))
    case .success: return .success(nil)
    case .failure(let error): return .failure(error)
    }
  }

  /// Queues changes of an object's attributes.
  func update(
    _ name: String, _ watcher: BlobSync.Watcher, _ body: (inout AttributeChanges) -> Void
  ) throws {
    var changes = AttributeChanges()
    body(&changes)
    _ = try sync.update(try path(name), changes, watcher: watcher)
  }
}
