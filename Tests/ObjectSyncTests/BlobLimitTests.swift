// A blob remote that sends values which an object's record cannot hold.

import ByteStore
import DocumentStore
import Harness
import ObjectStore
import ObjectSync
import OfflineSync
import StoreTools
import Testing

@Suite struct BlobLimitTests {
  private let server = LoopbackBlobRemote(countingFrom: 0)
  private let content = [UInt8](repeating: 5, count: 3000)

  private func putAtRemote(_ name: String) throws {
    try server.append(content, at: 0, toUpload: name)
    _ = try server.finish(
      upload: name, as: RemoteObject(bucket: "bucket", name: name, byteCount: UInt64(content.count)))
  }

  /// The maximum metageneration cannot be increased, so it stays unchanged.
  @Test func anObjectWithTheMaximumMetagenerationCanBeChanged() throws {
    let remote = EditingBlobRemote(server) { $0.metageneration = .max }
    try putAtRemote("a")
    let client = try BlobClient(remote)
    #expect(try client.find("a") == .success(content))
    #expect(try client.objects.object(at: client.path("a"))?.metageneration == .max)
    server.isReachable = false
    try client.update("a", BlobSync.Watcher { _ in }) { $0.set(.contentType, "text/plain") }
    client.scheduler.play(for: 0)
    #expect(try client.objects.object(at: client.path("a"))?.metageneration == .max)
    server.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(try client.sync.changes().isEmpty)
    #expect(try client.objects.object(at: client.path("a"))?.attributes.contentType == "text/plain")
    #expect(try client.store.check().isSound)
  }

  private static let edits: [(name: String, edit: @Sendable (inout RemoteObject) -> Void)] = [
    ("contentType", { $0.contentType = String(repeating: "x", count: 5000) }),
    ("language", { $0.contentLanguage = String(repeating: "x", count: 9 << 20) }),
    ("custom", { $0.customMetadata = ["k": String(repeating: "x", count: 9 << 20)] }),
    ("md5", { $0.md5 = [1, 2, 3] }),
    ("tokens", { $0.downloadTokens = [String](repeating: "token", count: 10_000) }),
  ]

  @Test(arguments: edits)
  func oversizedMetadataRefusesOnlyItsObject(
    name: String, edit: @escaping @Sendable (inout RemoteObject) -> Void
  ) throws {
    let remote = EditingBlobRemote(server) { if $0.name == "bad" { edit(&$0) } }
    for name in ["a", "bad"] { try putAtRemote(name) }
    let client = try BlobClient(remote)
    guard case .failure(.remote(.rejected(let reason))) = try client.find("bad") else {
      Issue.record("\(name) was taken")
      return
    }
    #expect(reason.contains("invalid properties of an object") && reason.utf8.count < 500)
    #expect(try client.find("a") == .success(content))
    #expect(try client.store.check().isSound)
    remote.stop()
    #expect(try client.find("bad") == .success(content))
  }

  /// To find a remaining object in the folder, the client requests page after page, as long as the names on
  /// the pages can belong to the folder. Here, the pages never end.
  @Test func anEndlessListingIsRefused() throws {
    let remote = EditingBlobRemote(server) { _ in }
    try putAtRemote("folder/c")
    let client = try BlobClient(remote)
    #expect(try client.find("folder/c") == .success(content))
    server.isReachable = false
    try client.sync.delete(client.path("folder/c"), BlobSync.Watcher { _ in })
    client.scheduler.play(for: 0)
    server.isReachable = true
    remote.listsForEver(below: "folder/")
    let answer = Locked<Result<ObjectPage, BlobSyncError>?>(nil)
    client.sync.list(bucket: "bucket", folder: "", after: nil, limit: 10) { result in
      answer.withLock { $0 = result }
    }
    client.scheduler.play(for: 0)
    guard case .failure(.remote(.rejected))? = answer.withLock({ $0 }) else {
      Issue.record("\(String(describing: answer.withLock { $0 }))")
      return
    }
  }
}

/// Edits the objects that another remote returns, and can continue a listing without end.
private final class EditingBlobRemote: BlobRemote {
  private let base: LoopbackBlobRemote
  private let edit: @Sendable (inout RemoteObject) -> Void
  private let state = Locked(State())

  private struct State {
    var isStopped = false
    var endlessFolder: String?
    var parts = 0
  }

  init(_ base: LoopbackBlobRemote, _ edit: @escaping @Sendable (inout RemoteObject) -> Void) {
    self.base = base
    self.edit = edit
  }

  func stop() { state.withLock { $0.isStopped = true } }

  func listsForEver(below folder: String) { state.withLock { $0.endlessFolder = folder } }

  private func edited(_ object: RemoteObject) -> RemoteObject {
    var object = object
    if !state.withLock({ $0.isStopped }) { edit(&object) }
    return object
  }

  func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject {
    edited(try base.object(bucket: bucket, name: name))
  }

  func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    edited(try base.update(object))
  }

  func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    edited(try base.finish(upload: id, as: object))
  }

  func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing {
    let part = state.withLock { state -> Int? in
      guard state.endlessFolder == prefix else { return nil }
      state.parts += 1
      return state.parts
    }
    guard let part, part < 1000 else {
      return try base.list(bucket: bucket, below: prefix, after: last, count: count)
    }
    return RemoteListing(["~\(String(repeating: "~", count: part))"], isLast: false)
  }

  func read(_ object: RemoteObject, from offset: UInt64, count: Int) throws(BlobRemoteError) -> [UInt8] {
    try base.read(object, from: offset, count: count)
  }

  func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64 { try base.offset(ofUpload: id) }

  func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError) {
    try base.append(bytes, at: offset, toUpload: id)
  }

  func abandon(upload id: String) throws(BlobRemoteError) { try base.abandon(upload: id) }

  func delete(bucket: String, name: String) throws(BlobRemoteError) {
    try base.delete(bucket: bucket, name: name)
  }
}
