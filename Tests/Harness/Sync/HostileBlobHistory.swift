// A history of an object client whose remote sends invalid data at first, and only valid data at the end.
//
// At the end, the client must find each object with the remote's content, the attributes of each object can
// be changed, and the client's store is sound.

import ByteStore
import DocumentStore
import ObjectStore
import ObjectSync
import OfflineSync
import StoreTools

struct HostileBlobHistory {
  private var random: SeededRandom
  private let scheduler = VirtualScheduler()
  private let server = LoopbackBlobRemote(countingFrom: 0)
  private let remote: HostileBlobRemote
  private let disk = SimulatedDisk()
  private var store: DocumentStore
  private var sync: BlobSync
  private var lives: UInt64 = 0
  private let seed: UInt64

  private static let names = ["a", "b", "folder/c"]

  private init(seed: UInt64) throws {
    self.seed = seed
    random = SeededRandom(seed: seed)
    remote = HostileBlobRemote(server, seed: random.next())
    (store, sync) = try Self.open(disk, remote, scheduler, seed: seed)
  }

  private static func open(
    _ disk: SimulatedDisk, _ remote: HostileBlobRemote, _ scheduler: VirtualScheduler, seed: UInt64
  ) throws -> (DocumentStore, BlobSync) {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/store", options: options, platform: disk.platform(seed: seed))
    return (store, try BlobSync.attach(remote, to: store.objects, attachment: .refuse, scheduler: scheduler))
  }

  static func run(seed: UInt64) -> HostileCampaign.Result {
    var result = HostileCampaign.Result()
    do {
      var history = try HostileBlobHistory(seed: seed)
      defer { history.scheduler.clear() }
      result.failure = try history.run().map { "seed \(seed): \($0)" }
      result.invalidCounts = history.remote.sentCounts
    } catch {
      result.failure = "seed \(seed): \(error)"
    }
    return result
  }

  private mutating func run() throws -> String? {
    remote.invalidOneIn = 1 + random.below(3)
    for _ in 0..<15 + random.below(15) {
      try act()
      scheduler.play(for: Int64(random.below(3_000_000)))
      if let failure = sync.failure { return "\(failure)" }
    }
    remote.invalidOneIn = nil
    scheduler.play(for: 600_000_000)
    try store.close()
    lives += 1
    (store, sync) = try Self.open(disk, remote, scheduler, seed: SeededRandom.seed(seed, lives))
    scheduler.play(for: 600_000_000)
    if let failure = try sync.changes().first { return "\(failure.path) still waits" }
    for name in Self.names {
      let found = try find(name)
      let content = server.content(bucket: "bucket", name: name)
      guard case .success(let has) = found, has == content else { return "\(name) is found as \(found)" }
      guard content != nil else { continue }
      try update(name)
      scheduler.play(for: 10_000_000)
      let number = try store.objects.object(at: path(name))?.metageneration ?? 0
      if number <= 0 { return "\(name) has the metageneration \(number)" }
    }
    let report = try store.check()
    return report.isSound ? nil : "a check finds \(report)"
  }

  private mutating func act() throws {
    let name = Self.names[random.below(Self.names.count)]
    switch random.below(8) {
    case 0, 1:
      let bytes = random.bytes(1 + random.below(3000))
      let session = "other \(name) \(random.next())"
      try server.append(bytes, at: 0, toUpload: session)
      _ = try server.finish(
        upload: session, as: RemoteObject(bucket: "bucket", name: name, byteCount: UInt64(bytes.count)))
    case 2:
      let bytes = random.bytes(1 + random.below(3000))
      let source = UploadSource(file: nil, byteCount: UInt64(bytes.count), modified: 0)
      let upload = store.objects.upload(to: try path(name), from: source, attributes: ObjectAttributes())
      try upload.append(bytes)
      _ = try sync.put(upload, token: "token", watcher: BlobSync.Watcher { _ in })
    case 3: try update(name)
    case 4: sync.list(bucket: "bucket", folder: "", after: nil, limit: 10) { _ in }
    case 5: sync.list(bucket: "bucket", folder: "folder", after: nil, limit: 1) { _ in }
    default: _ = try find(name)
    }
  }

  private func update(_ name: String) throws {
    var changes = AttributeChanges()
    changes.set(.contentType, "text/plain")
    _ = try sync.update(try path(name), changes, watcher: BlobSync.Watcher { _ in })
  }

  private func path(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: "bucket", name: try ObjectName(name))
  }

  private func find(_ name: String) throws -> Result<[UInt8]?, BlobSyncError> {
    let answer = Locked<Result<BlobSync.Found, BlobSyncError>?>(nil)
    sync.find(try path(name), BlobSync.FetchRequest(fetchesContent: true)) { result in
      answer.withLock { $0 = result }
    }
    scheduler.play(for: 10_000_000)
    switch answer.withLock({ $0 }) {
    case .success(.here)?: return .success(try store.objects.content(at: path(name))?.reader.readAll())
    case .success?: return .success(nil)
    case .failure(let error)?: return .failure(error)
    case nil: return .failure(.overdue(nil))
    }
  }
}
