// The store in a real directory: persistence, refusals, and foreign files.

import ByteStore
import Dispatch
import Foundation
import Harness
import Libc
import StoreTools
import Testing

@testable import DocumentStore

@Suite struct DocumentStoreTests {
  private let directory = TemporaryDirectory()
  private let place = path("rooms", "eros")
  private let fields = StoredMap([("name", .string("Eros")), ("seats", .integer(3))])

  private func openingFails(createsIfMissing: Bool = true) -> DocumentStoreError? {
    var options = DocumentStore.Options()
    options.createsIfMissing = createsIfMissing
    let path = directory.path
    return failure {
      try DocumentStore.open(path, options: options)
    }
  }

  // MARK: Persistence

  @Test func committedDocumentsSurviveReopening() throws {
    let store = try DocumentStore.open(directory.path)
    #expect(store.path == directory.path)
    #expect(try store.document(at: place) == nil)
    #expect(store.count == 0)
    let time = try store.commit([.set(place, fields)])
    let expected = StoredDocument(path: place, createTime: time, updateTime: time, fields: fields)
    #expect(try store.document(at: place) == expected)
    #expect(store.count == 1)
    try store.close()

    let again = try DocumentStore.open(directory.path)
    #expect(again.recoveryReport.wasClosedCleanly)
    #expect(again.recoveryReport.losses.isEmpty)
    #expect(try again.document(at: place) == expected)
    #expect(again.count == 1)
    try again.close()
  }

  @Test func aStoreThatWasNotClosedLosesNothing() throws {
    let clock = HandClock(1_000_000)
    var store: DocumentStore? = try DocumentStore.open(directory, clock)
    try store?.commit([.set(place, fields)])
    let again = try DocumentStore.abandonAndOpen(&store, directory, clock)
    #expect(!again.recoveryReport.wasClosedCleanly)
    #expect(again.recoveryReport.losses.isEmpty)
    #expect(try again.document(at: place)?.fields == fields)
    try again.close()
  }

  @Test func canonicallyEquivalentPathsAreDistinctDocuments() throws {
    let store = try DocumentStore.open(directory.path)
    let twins = ["\u{E9}", "e\u{301}", "a", "a\0", "__id5__", "__id-5__"].map { path("rooms", $0) }
    try store.commit(
      twins.enumerated().map { .set($1, StoredMap([("number", .integer(Int64($0)))])) })
    #expect(store.count == twins.count)
    let documents = try twins.compactMap { try store.document(at: $0) }
    #expect(documents.map(\.path) == twins)
    let fields = twins.indices.map { StoredMap([("number", .integer(Int64($0)))]) }
    #expect(documents.map(\.fields) == fields)
    try store.close()
  }

  @Test func theLargestDocumentIsReadAsItWasWritten() throws {
    // Besides the two values, the document counts 20 + 32 + 2 + 2 + 32 + 2 = 90 bytes.
    let half = [UInt8](repeating: 0x5A, count: 524_243)
    let largest = StoredMap([("a", .bytes(half)), ("b", .map(StoredMap([("b", .bytes(half))])))])
    let store = try DocumentStore.open(directory.path)
    try store.commit([.set(path("a", "b"), largest)])
    var larger = largest
    larger["a"] = .bytes(half + [0])
    let refusal = failure { try store.commit([.set(path("a", "b"), larger)]) }
    #expect(refusal?.complaint?.contains("1048577 bytes") == true)
    try store.close()
    let again = try DocumentStore.open(directory.path)
    #expect(try again.document(at: path("a", "b"))?.fields == largest)
    try again.close()
  }

  // MARK: Several writes in one commit

  @Test func writesToOneDocumentInOneCommitBuildOnEachOther() throws {
    let clock = HandClock(1_000_000)
    let store = try DocumentStore.open(directory, clock)
    let (one, two, three) = (path("c", "1"), path("c", "2"), path("c", "3"))
    let createTime = try store.commit([.set(one, fields), .set(two, fields), .set(three, fields)])
    let time = try store.commit([
      .set(one, StoredMap([("a", .integer(1))])), .delete(two), .delete(three),
      .set(one, StoredMap([("b", .integer(2))])), .set(two, StoredMap([("c", .integer(3))])),
      .set(three, fields), .delete(three), .set(path("c", "4"), fields), .delete(path("c", "4")),
    ])
    #expect(
      try store.document(at: one)
        == StoredDocument(
          path: one, createTime: createTime, updateTime: time, fields: StoredMap([("b", .integer(2))])))
    #expect(
      try store.document(at: two)
        == StoredDocument(
          path: two, createTime: time, updateTime: time, fields: StoredMap([("c", .integer(3))])))
    #expect(try store.document(at: three) == nil)
    #expect(try store.document(at: path("c", "4")) == nil)
    #expect(store.count == 2)
    try store.close()
  }

  @Test func theTimeOfCreationIsKeptBySetAndNewAfterADeletion() throws {
    let clock = HandClock(1_000_000)
    let store = try DocumentStore.open(directory, clock)
    let first = try store.commit([.set(place, fields)])
    let second = try store.commit([.set(place, StoredMap())])
    #expect(try store.document(at: place)?.createTime == first)
    #expect(try store.document(at: place)?.updateTime == second)
    try store.commit([.delete(place)])
    let third = try store.commit([.set(place, fields)])
    #expect(try store.document(at: place)?.createTime == third)
    try store.close()
    let again = try DocumentStore.open(directory, clock)
    let fourth = try again.commit([.set(place, StoredMap())])
    #expect(try again.document(at: place)?.createTime == third)
    #expect(try again.document(at: place)?.updateTime == fourth)
    try again.close()
  }

  @Test func deletingAMissingDocumentSucceeds() throws {
    let store = try DocumentStore.open(directory.path)
    try store.commit([.delete(place), .delete(place)])
    #expect(store.count == 0)
    try store.close()
  }

  // MARK: The number of documents

  /// Any name of the reserved form makes a document reserved, whichever names the higher layers use.
  @Test func reservedDocumentsAreNotCounted() throws {
    let long = "__" + String(repeating: "x", count: 1000)
    let own = [
      path("__id5__", "a"), path("__rooms", "a"), path("__rooms", "b"), path("a", "b", "__c", "d"),
      path("___", "a"), path(long, "a"), path(long, "b"), path("rooms", "eros"),
    ]
    var kept = (0..<300).map { ["__made_up__", "\($0)"] }
    kept.append(["__targets__", "1", "__keys__", "rooms%2feros"])
    kept += [["__targets__", "1"], ["__sync__", "globals"], ["____", "a"]]
    let store = try DocumentStore.open(directory.path)
    #expect(try store.documentCount() == 0)
    try store.commit(kept.map { .set(DocumentPath(unchecked: $0), fields) })
    #expect(store.count == 0)
    try store.commit(own.map { .set($0, fields) })
    #expect(store.count == own.count)
    #expect(try store.documentCount() == own.count)
    try store.compact()
    try store.close()
    let again = try DocumentStore.open(directory.path)
    #expect(again.count == own.count)
    try again.commit([.delete(own[0]), .delete(DocumentPath(unchecked: kept[300]))])
    #expect(try again.documentCount() == own.count - 1)
    try again.close()
  }

  @Test func theCountOfADamagedStoreIsRightOrFails() throws {
    let store = try DocumentStore.open(directory.path)
    for round in 0..<2 {
      let ids = (0..<300).map { "\(round * 300 + $0)" }
      try store.commit(ids.map { .set(path("rooms", $0), fields) })
      try store.commit(ids.map { .set(DocumentPath(unchecked: ["__kept__", $0]), fields) })
    }
    try store.compact()
    try store.close()
    let contents = try directory.contents()
    let name = try #require(contents.keys.first { $0.contains("checkpoint") }, "\(contents.keys)")
    let bytes = try #require(contents[name])
    var (right, refused) = (0, 0)
    var wrong: [String] = []
    for offset in stride(from: 0, to: bytes.count, by: 997) {
      let copy = TemporaryDirectory()
      try copy.create()
      for (other, content) in contents where other != name { try copy.write(content, to: other) }
      var damaged = bytes
      damaged[offset] ^= 0x10
      try copy.write(damaged, to: name)
      var options = DocumentStore.Options()
      options.maintenance = .manual
      do throws(DocumentStoreError) {
        let store = try DocumentStore.open(copy.path, options: options)
        defer { store.bytes.abandon() }
        let count = try store.documentCount()
        if count == 600 { right += 1 } else { wrong.append("\(count) documents, offset \(offset)") }
      } catch {
        if case .corrupted = error { refused += 1 } else { wrong.append("\(error), offset \(offset)") }
      }
    }
    #expect(wrong == [])
    #expect(right > 0)
    #expect(refused > 0)
  }

  // MARK: Backups

  @Test func aBackupIsOneSnapshotWhileCommitsContinue() throws {
    let store = try DocumentStore.open(directory.path)
    try store.commit([.set(place, fields)])
    let target = TemporaryDirectory()
    var steps: Set<BackupProgress.Step> = []
    let report = try store.backup(to: target.path) { progress in
      steps.insert(progress.step)
      _ = try? store.commit([.delete(place)])
    }
    #expect(try store.document(at: place) == nil)
    #expect(steps == [.writing, .verifying] && report.keys == 1)
    let copy = try DocumentStore.open(target.path)
    #expect(try copy.document(at: place)?.fields == fields)
    #expect(copy.storeID == report.storeID && copy.storeID != store.storeID)

    let refusal = failure { try store.backup(to: target.path) }
    guard case .unsuitableDirectory = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
  }

  // MARK: Refusals

  @Test func aCommitWithOneInvalidDocumentWritesNothing() throws {
    let store = try DocumentStore.open(directory.path)
    try store.commit([.set(place, fields)])
    let badReference = StoredReference(
      projectID: "p", databaseID: "d", path: DocumentPath(unchecked: ["a", "__b__"]))
    let invalid: [StoredMap] = [
      StoredMap([("v", .bytes([UInt8](repeating: 0, count: 1_048_488)))]),
      StoredMap([(String(repeating: "n", count: 1501), .null)]),
      StoredMap([("v", Values.tower(21))]), StoredMap([("v", .reference(badReference))]),
    ]
    var wrong: [String] = []
    for (number, bad) in invalid.enumerated() {
      let commit: [Mutation] = [
        .set(path("rooms", "new"), fields), .delete(place), .set(path("rooms", "bad"), bad),
        .set(path("rooms", "newer"), fields),
      ]
      let refusal = failure { try store.commit(commit) }
      if refusal?.complaint == nil { wrong.append("\(number): \(refusal?.description ?? "accepted")") }
      if store.count != 1 { wrong.append("\(number): \(store.count) documents") }
      if try store.document(at: place)?.fields != fields { wrong.append("\(number): other fields") }
    }
    #expect(wrong == [])
    try store.commit([.set(path("rooms", "new"), fields)])
    #expect(store.count == 2)
    try store.close()

    let again = try DocumentStore.open(directory.path)
    #expect(again.recoveryReport.commitsReplayed == 2)
    #expect(again.count == 2)
    try again.close()
  }

  @Test func aTransformMayNotNestMoreThanTwentyLevels() throws {
    let store = try DocumentStore.open(directory.path)
    func commit(names: Int) -> DocumentStoreError? {
      let field = StoredFieldPath(unchecked: Array(repeating: "m", count: names))
      return failure {
        try store.commit([
          .set(place, StoredMap(), transforms: [FieldTransform(field, .serverTimestamp)])
        ])
      }
    }
    #expect(commit(names: 21) == nil)
    #expect(commit(names: 22)?.complaint?.contains("nested 20 deep") == true)
    try store.close()
  }

  /// Guards against unbounded recursion over unchecked input, which overflows the stack.
  @Test func aTransformOfAnyDepthIsRefusedWithoutATrap() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let store = try DocumentStore.open(directory.path)
      let field = StoredFieldPath(unchecked: Array(repeating: "m", count: 500_000))
      let error = failure {
        try store.commit([
          .set(path("a", "b"), StoredMap(), transforms: [FieldTransform(field, .serverTimestamp)])
        ])
      }
      precondition(error?.complaint != nil)
      precondition(store.count == 0)
    }
  }

  @Test func aRequestHasTenMebibytesAndNoMore() throws {
    let store = try DocumentStore.open(directory.path)
    // Besides the value of f, a document c/x counts 20 bytes for its name, 32 for the document and 2 for the
    // field name.
    func commit(lastFilling: Int) -> DocumentStoreError? {
      let fillings = Array(repeating: 1_000_000, count: 10) + [lastFilling]
      return failure {
        try store.commit(
          zip("0123456789x", fillings).map { name, count in
            let filling = StoredValue.bytes([UInt8](repeating: 0, count: count))
            return .set(path("c", String(name)), StoredMap([("f", filling)]))
          })
      }
    }
    let last = 10_485_760 - 11 * 54 - 10_000_000
    #expect(commit(lastFilling: last + 1)?.complaint?.contains("The request has 10485761 bytes") == true)
    #expect(store.count == 0)
    #expect(commit(lastFilling: last) == nil)
    #expect(store.count == 11)
    try store.close()
    let again = try DocumentStore.open(directory.path)
    #expect(again.count == 11)
    try again.close()
  }

  @Test func aClosedStoreNeitherReadsNorWritesAndClosesTwice() throws {
    let store = try DocumentStore.open(directory.path)
    try store.commit([.set(place, fields)])
    try store.close()
    try store.close()
    let place = place
    let attempts = [
      failure { try store.document(at: place) },
      failure { try store.commit([.set(place, StoredMap())]) },
      failure { try store.commit([.delete(place)]) },
      failure { try store.commit([]) },
    ]
    let wrong = attempts.filter { attempt in
      guard case .closed(let evidence) = attempt else { return true }
      return evidence.file != directory.path || !evidence.message.contains("closed")
    }
    #expect(wrong == [])
    let again = try DocumentStore.open(directory.path)
    #expect(try again.document(at: place)?.fields == fields)
    try again.close()
  }

  // MARK: Ownership of the directory

  @Test func aSecondOpenReportsTheProcessThatHoldsTheStore() throws {
    let store = try DocumentStore.open(directory.path)
    let attempts = [openingFails(), openingFails()]
    let wrong = attempts.filter { attempt in
      guard case .locked(let evidence) = attempt else { return true }
      return evidence.file != directory.path || evidence.holder != getpid()
        || !evidence.message.contains("process \(getpid())")
    }
    #expect(wrong == [])
    try store.commit([.set(place, fields)])
    try store.close()
    try DocumentStore.open(directory.path).close()
  }

  /// Guards against a lock that survives in a forked child. Until the child calls exec, it has a copy of
  /// every descriptor of the parent. If such a copy held the lock of a store that the parent has closed, the
  /// next open would sometimes fail.
  @Test func closedStoreIsUnlockedWhileOtherProcessesAreStarting() throws {
    let isDone = Locked(false)
    let starter = DispatchGroup()
    for _ in 0..<2 {
      starter.enter()
      Thread.detachNewThread {
        while !isDone.withLock({ $0 }) { startProcess() }
        starter.leave()
      }
    }
    defer {
      isDone.withLock { $0 = true }
      starter.wait()
    }
    for _ in 0..<200 { try DocumentStore.open(directory.path).close() }
  }

  @Test(arguments: [true, false])
  func aForeignDirectoryIsRefusedAndUnchanged(createsIfMissing: Bool) throws {
    try directory.create()
    try directory.write([1, 2, 3], to: "notes.txt")
    guard case .notAStore(let evidence) = openingFails(createsIfMissing: createsIfMissing) else {
      Issue.record("a directory of someone else was opened")
      return
    }
    #expect(evidence.file == directory.path)
    #expect(evidence.found == "notes.txt")
    #expect(try directory.contents() == ["notes.txt": [1, 2, 3]])
  }

  @Test func openWithoutCreatingLeavesNoFiles() throws {
    guard case .notAStore(let evidence) = openingFails(createsIfMissing: false) else {
      Issue.record("a missing store was opened")
      return
    }
    #expect(evidence.file == directory.path)
    #expect(!directory.exists)

    try directory.create()
    guard case .notAStore = openingFails(createsIfMissing: false) else {
      Issue.record("an empty directory was opened")
      return
    }
    #expect(try directory.names == [])

    try DocumentStore.open(directory.path).close()
    #expect(openingFails(createsIfMissing: false) == nil)
  }

  @Test func failedDirectoryCreationReportsItsErrorCode() throws {
    try directory.create()
    try directory.write([], to: "file")
    let path = directory.path + "/file/store"
    let error = failure { try DocumentStore.open(path) }
    guard case .failed(let evidence) = error else {
      Issue.record("a store below a file: \(error.debugDescription)")
      return
    }
    #expect(evidence.code == ENOTDIR)
    #expect(evidence.operation != nil)
    #expect(evidence.file?.hasPrefix(directory.path) == true)
  }

  // MARK: Damage

  @Test func aNewerFormatIsRefusedByName() throws {
    try DocumentStore.open(directory.path).close()
    var manifest = try directory.read("MANIFEST")
    manifest[8] = 7
    manifest[manifest.count - 1] ^= 1
    try directory.write(manifest, to: "MANIFEST")
    guard case .newerFormat(let evidence) = openingFails() else {
      Issue.record("a newer format was opened")
      return
    }
    #expect(evidence.file == directory.path + "/MANIFEST")
    #expect(evidence.found == "version 7")
    #expect(try directory.read("MANIFEST") == manifest)
  }

  @Test func damageIsReportedWithItsPlaceAndNothingIsChanged() throws {
    let store = try DocumentStore.open(directory.path)
    try store.commit([.set(place, fields)])
    try store.close()
    let log = try #require(try directory.names.first { $0.hasPrefix("log-") })
    var bytes = try directory.read(log)
    let name = try #require(bytes.firstRange(of: Array("Eros".utf8)))
    bytes[name.lowerBound] ^= 1
    try directory.write(bytes, to: log)
    let before = try directory.contents()
    guard case .corrupted(let evidence) = openingFails() else {
      Issue.record("a damaged log was opened")
      return
    }
    #expect(evidence.file == "\(directory.path)/\(log)")
    let offset = try #require(evidence.offset)
    #expect(offset > 0 && offset <= UInt64(name.lowerBound))
    #expect(evidence.expected != nil && evidence.found != nil)
    #expect(try directory.contents() == before)
  }

  @Test func anUndecodableRecordNamesItsDocumentAndSparesOthers() throws {
    let bytes = try ByteStore.open(directory.path)
    var batch = Batch(stamp: 5)
    try batch.put([9, 9, 9], for: DocumentKey.encode(place))
    try bytes.commit(batch)
    try bytes.close()
    let store = try DocumentStore.open(directory.path)
    try store.commit([.set(path("rooms", "other"), fields)])
    let place = place
    let attempts = [
      failure { try store.document(at: place) },
      failure { try store.commit([.merge(place, StoredMap([("n", 1)]))]) },
    ]
    let wrong = attempts.filter { attempt in
      guard case .corrupted(let evidence) = attempt else { return true }
      return evidence.file != directory.path || evidence.offset != 0
        || evidence.expected != "a record of form 1 or 2" || !evidence.message.contains("rooms/eros")
    }
    #expect(wrong == [])
    #expect(try store.document(at: path("rooms", "other"))?.fields == fields)
    // Only a write that does not read the damaged record repairs it.
    try store.commit([.set(place, fields)])
    #expect(try store.document(at: place)?.fields == fields)
    try store.close()
  }
}

/// Starts a program that does nothing, and waits for it.
private func startProcess() {
  var process = pid_t()
  var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
  defer { free(arguments[0]) }
  guard posix_spawnp(&process, "true", nil, nil, &arguments, nil) == 0 else { return }
  var status: Int32 = 0
  _ = waitpid(process, &status, 0)
}
