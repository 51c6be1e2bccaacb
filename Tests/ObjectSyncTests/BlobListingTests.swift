// Listings of a bucket with a remote: the remote's entries with pending changes applied.

import ByteStore
import DocumentStore
import Harness
import ObjectStore
import ObjectSync
import OfflineSync
import Testing

struct BlobListingTests {
  private let remote = LoopbackBlobRemote(countingFrom: 0)
  private let client: BlobClient

  init() throws { client = try BlobClient(remote) }

  private func putAtRemote(_ names: [String]) throws {
    for name in names {
      let upload = "\(Array(name.utf8))"
      try remote.append([1], at: 0, toUpload: upload)
      _ = try remote.finish(
        upload: upload, as: RemoteObject(bucket: "bucket", name: name, byteCount: 1))
    }
  }

  /// Queues an upload and keeps it from being sent.
  private func holdPut(_ name: String) throws {
    let watcher = BlobSync.Watcher { _ in }
    client.sync.hold(
      try client.sync.put(client.upload([2], name), token: "t", watcher: watcher).change.number)
  }

  private func holdDelete(_ name: String) throws {
    let waiting = Set(try client.sync.changes().map(\.number))
    try client.sync.delete(client.path(name), BlobSync.Watcher { _ in })
    for change in try client.sync.changes() where !waiting.contains(change.number) {
      client.sync.hold(change.number)
    }
  }

  private func page(
    _ folder: String, after last: String? = nil, limit: Int = 1000
  ) throws -> Result<ObjectPage, BlobSyncError> {
    let answer = Locked<Result<ObjectPage, BlobSyncError>?>(nil)
    client.sync.list(bucket: "bucket", folder: folder, after: last, limit: limit) { result in
      answer.withLock { $0 = result }
    }
    client.scheduler.play(for: 0)
    return try #require(answer.withLock { $0 })
  }

  /// Returns the entries of all pages of a folder.
  private func entries(_ folder: String, limit: Int = 1000) throws -> [String] {
    var entries: [String] = []
    var counts: [Int] = []
    var last: String?
    repeat {
      let page = try page(folder, after: last, limit: limit).get()
      counts.append(page.count)
      entries += page.entries
      last = page.next
    } while last != nil
    #expect(counts.filter { $0 > limit } == [], "pages of at most \(limit)")
    return entries
  }

  @Test func canonicallyEquivalentNamesAreDifferent() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    try putAtRemote([composed, decomposed])
    #expect(try entries("").map { Array($0.utf8) } == [decomposed, composed].map { Array($0.utf8) })
    try holdDelete(composed)
    #expect(try entries("").map { Array($0.utf8) } == [Array(decomposed.utf8)])
  }

  @Test(arguments: [1, 2, 3, 1000]) func pendingChangesAreAppliedToTheRemotesListing(limit: Int) throws {
    try putAtRemote(["a", "b/x", "b/y/z", "c", "d/only", "e/1", "e/2", "other/a//b", "z"])
    try holdPut("aa")
    try holdPut("n/new")
    try holdPut("zz")
    try holdDelete("c")
    try holdDelete("d/only")
    try holdDelete("e/1")
    #expect(try entries("", limit: limit) == ["a", "aa", "b/", "e/", "n/", "other/", "z", "zz"])
    #expect(try entries("b", limit: limit) == ["b/x", "b/y/"])
    #expect(try entries("d", limit: limit) == [])
    #expect(try entries("e", limit: limit) == ["e/2"])
    #expect(try entries("n", limit: limit) == ["n/new"])
    // The folder "other/a" contains only the name "/b", which no reference can have.
    #expect(try entries("other/a", limit: limit) == [])
    #expect(try entries("nowhere", limit: limit) == [])
    #expect(try client.content("a") == nil, "to list is not to bring")
  }

  @Test(arguments: [1, 2, 1000]) func withoutAConnectionListingsAreLocal(limit: Int) throws {
    try putAtRemote(["a", "b/x", "c"])
    _ = try client.find("a")
    _ = try client.find("b/x")
    try holdPut("b/y")
    try holdPut("d")
    #expect(try entries("", limit: limit) == ["a", "b/", "c", "d"])
    remote.isReachable = false
    #expect(try entries("", limit: limit) == ["a", "b/", "d"])
    #expect(try entries("b", limit: limit) == ["b/x", "b/y"])
  }

  /// The connection is lost and restored between pages. Each page continues after the last entry.
  @Test func pagesContinueAcrossDisconnections() throws {
    try putAtRemote(["a/1", "b", "c/1", "c/2", "d"])
    for name in ["a/1", "b", "c/1", "d"] { _ = try client.find(name) }
    var entries: [String] = []
    var last: String?
    repeat {
      remote.isReachable.toggle()
      let page = try page("", after: last, limit: 1).get()
      entries += page.entries
      last = page.next
    } while last != nil
    #expect(entries == ["a/", "b", "c/", "d"])
  }

  @Test func aFolderWithPendingDeletionsIsListedRecursively() throws {
    try putAtRemote(["f/a/1", "f/a/2", "f/b/c/1", "g/h/i/1"])
    for name in ["f/a/1", "f/a/2", "g/h/i/1"] { try holdDelete(name) }
    #expect(try entries("") == ["f/"])
    #expect(try entries("f") == ["f/b/"])
    try holdDelete("f/b/c/1")
    #expect(try entries("") == [])
  }

  /// With random changes and page sizes, the listing equals the remote's names with all pending changes
  /// applied.
  @Test(arguments: 1...20) func listingsEqualTheRemotePlusPendingChanges(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    func name() -> String {
      (0...random.below(3)).map { _ in ["a", "b", "b!", "b0", "é"][random.below(5)] }.joined(separator: "/")
    }
    var names: Set<String> = []
    for _ in 0..<random.below(15) { names.insert(name()) }
    try putAtRemote(names.sorted())
    for _ in 0..<random.below(12) {
      let name = name()
      if random.oneIn(2) {
        try holdPut(name)
        names.insert(name)
      } else {
        try holdDelete(name)
        names.remove(name)
      }
    }
    var wrong: [String] = []
    for prefix in ["", "a/", "b/", "b/a/"] {
      let expected = Set(names.compactMap { ObjectEntry.text(of: $0, below: prefix) })
        .sorted { $0.precedesInUTF8($1) }
      let found = try entries(String(prefix.dropLast()), limit: 1 + random.below(4))
      if found != expected { wrong.append("below \"\(prefix)\": \(found), not \(expected)") }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  @Test func aRemoteWithRepeatedPagesIsDetected() throws {
    let stubborn = try BlobClient(RepeatingRemote())
    let answer = Locked<Result<ObjectPage, BlobSyncError>?>(nil)
    stubborn.sync.list(bucket: "bucket", folder: "", after: "b", limit: 1) { result in
      answer.withLock { $0 = result }
    }
    stubborn.scheduler.play(for: 0)
    guard case .failure(.remote(.rejected))? = answer.withLock({ $0 }) else {
      Issue.record("it was believed")
      return
    }
  }
}

/// A remote that returns the same fixed answer to every request.
private struct RepeatingRemote: BlobRemote {
  func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing { RemoteListing(["a"], isLast: false) }

  func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64 { 0 }
  func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError) {}
  func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject { object }
  func abandon(upload id: String) throws(BlobRemoteError) {}
  func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject { throw .notFound }
  func read(_ object: RemoteObject, from offset: UInt64, count: Int) throws(BlobRemoteError) -> [UInt8] {
    throw .notFound
  }
  func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject { throw .notFound }
  func delete(bucket: String, name: String) throws(BlobRemoteError) { throw .notFound }
}
