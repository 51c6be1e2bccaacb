// The faults of the original Ballcap, numbered as in docs/ballcap.md, with the tests of the correct behavior.

import Ballcap
import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

extension BallcapTests {
  @Suite final class Faults {
    private let app = TestApp()

    /// Each fault, and the tests that fail if it comes back.
    private static let table: [(number: Int, fault: String, tests: [String])] = [
      (
        1, "a value that does not encode crashes a batch",
        ["encodingErrorFailsTheCommitAndWritesNothing", "anObjectWithoutDataFailsTheCommit"]
      ),
      (
        2, "comparing an operator crashes",
        [
          "operatorsCompareWithoutReadingTheirValue", "genericCodeCanCompareFieldOperators",
          "refreshOfAModelWithAnOperatorDoesNotCrash",
        ]
      ),
      (3, "the cache has operators in place of values", ["cacheHoldsTheValuesThatTheCommitComputed"]),
      (
        4, "an update or a merge costs the cache fields",
        ["updateKeepsTheCreateTimeAndMergeKeepsAllFields"]
      ),
      (5, "an error destroys the data", ["readErrorKeepsTheDataAndMissingDocumentClearsIt"]),
      (6, "reading leaves times and snapshot", ["readUpdatesDataTimesAndSnapshotOfTheObject"]),
      (7, "the completion gets another object", ["readUpdatesDataTimesAndSnapshotOfTheObject"]),
      (8, "errors of listeners and pages are dropped", ["databaseErrorIsReportedOnTheCallbackQueue"]),
      (9, "a removed document is retrieved", ["removalsDoNotRetrieveTheirDocument"]),
      (
        10, "a late answer is lost",
        ["lateRetrievalIsStillDelivered", "lateRetrievalDoesNotRestoreADeletedDocument"]
      ),
      (
        11, "a slow answer blocks a thread",
        ["snapshotsAreDeliveredInOrderDespiteEarlyRetrievals", "listsWaitingForRetrievalsOccupyNoThread"]
      ),
      (12, "errors arrive on an arbitrary queue", ["timeoutIsReportedOnTheCallbackQueue"]),
      (13, "documents change beside their reader", ["documentsMatchTheSnapshotDuringTheCallback"]),
      (14, "the order of the query is lost", ["latestUpdateComesFirstUnlessTheQueryHasAnOrder"]),
      (15, "an order that throws crashes", ["throwingSortKeepsTheQueryOrder"]),
      (
        16, "every change scans the whole list",
        ["aChangeOfALongListTakesFewComparisons", "manualEditOfALongListDoesNotScanIt"]
      ),
      (
        17, "changes of metadata alone are reported",
        ["snapshotsWithoutDocumentChangesMayBeSkipped", "metadataOnlyChangesAreSkippedOnRequest"]
      ),
      (18, "the last page is known too late", ["pagesFollowOneAnother"]),
      (19, "errors of transfers are swallowed", ["firstErrorIsReportedAndAllFilesAreAttempted"]),
      (
        20, "an object freed by a timeout is still used",
        ["unreferencedBatchStillReportsItsTimeout", "finishedBatchRetainsNoBytes"]
      ),
      (
        21, "a fixed timeout of ten seconds for any file",
        ["transferTimeoutIsPublic", "commitRightAfterATimeoutIsNotCancelled"]
      ),
      (22, "metadata is not uploaded", ["aSavedFileIsReadBackByAnother"]),
      (23, "a failed deletion deletes the local bytes", ["failedDeletionKeepsTheLocalBytes"]),
      (24, "MIME types change in a round trip", ["mimeTypesRoundTrip", "documentsDescribeFiles"]),
      (
        25, "names crash or are encoded",
        ["namesGetTheirExtension", "filePathsAreBesideTheReferenceOrBelowTheObject"]
      ),
      (26, "bytes at hand are never asked for again", ["localBytesAreNotDownloadedAgainUnlessReloaded"]),
      (27, "two files share their bytes", ["twoFilesWithOnePathKeepTheirOwnBytes"]),
      (
        28, "caches are for one thread", ["manyThreadsMayUseTheCache", "manyThreadsMayUseFilesAndTheirTasks"]
      ),
      (29, "a removal that removes never ends", ["listenerRemovalMayDisposeOfItsOwnDisposer"]),
      (
        30, "undecodable documents are printed",
        ["undecodableDocumentIsOmittedAndReported", "theLayerPrintsNothing"]
      ),
      (
        31, "pending timestamps do not decode",
        ["pendingServerTimestampIsEstimatedForNonOptionalFields"]
      ),
      (
        32, "saving leaves the times",
        ["saveSetsLocalTimesAtOnceAndCommitTimesLater", "anObjectThatCouldNotBeSavedKeepsItsTimes"]
      ),
      (33, "edits lose objects in sets", ["anObjectInASetStaysThereWhenItsDataChanges"]),
      (
        34, "the last deletion, and edits of copies, are not noticed",
        ["changesArriveAsTheyHappen", "anEditThroughAnotherInstanceIsAModification"]
      ),
      (35, "the server may answer before the cache", ["theCacheAnswersBeforeTheServer"]),
      (36, "reading by id creates a model", ["readByIDCreatesNoUnusedModel"]),
      (37, "500 writes are the most", ["batchAcceptsAnyNumberOfWrites"]),
      (38, "elements of operators are not encoded", ["arrayOperatorsAcceptNonScalarElements"]),
    ]

    @Test func everyFaultHasItsTests() throws {
      let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      let code = try Self.code(in: folder)
      #expect(Self.table.map(\.number) == Array(1...38))
      var wrong: [String] = []
      for (number, fault, tests) in Self.table {
        for test in tests where !code.contains("func \(test)(") {
          wrong.append("\(number), \(fault): there is no test \(test)")
        }
      }
      #expect(wrong == [])
      print("faults of the original: \(Self.table.filter { !$0.tests.isEmpty }.count)/38 with a test")
    }

    private static func code(in folder: URL) throws -> String {
      let manager = Foundation.FileManager.default
      let files = manager.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
      return try (files ?? []).filter { $0.pathExtension == "swift" }
        .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }

    @Test func theLayerPrintsNothing() throws {
      let sources = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Sources/Layers/Ballcap")
      let lines = try Self.code(in: sources.standardizedFileURL).split(separator: "\n")
      try #require(lines.count > 1000)
      let loud = lines.filter { line in
        let code = line.trimmingCharacters(in: .whitespaces)
        return !code.hasPrefix("//") && code.contains(#/\b(print|debugPrint|dump|NSLog)\(/#)
      }
      #expect(loud.isEmpty, "\(loud)")
    }

    /// Uses more waiting lists than a thread pool has threads.
    @Test func listsWaitingForRetrievalsOccupyNoThread() async throws {
      try await Document<User>(id: "ada").save()
      let asked = CallbackValues<Bool>()
      let answers = Answers()
      let sources = (0..<200).map { _ in
        Document<User>.query.dataSource().retrieve { _, document, done in
          answers.keep { done(try? Document<User>(snapshot: document)) }
          asked.add(true)
        }.listen()
      }
      var asks: [Bool] = []
      for _ in sources { asks.append(await asked.next()) }
      #expect(asks == Array(repeating: true, count: 200))
      let changes = CallbackValues<[String]>()
      let other = Document<User>.query.dataSource()
        .onChanged { _, change in changes.add(change.after.keys) }
        .listen()
      #expect(await changes.next() == ["ada"])
      app.onCallbackQueue { for source in sources { source.onChanged { _, _ in asked.add(false) } } }
      answers.giveAll()
      asks = []
      for _ in sources { asks.append(await asked.next()) }
      #expect(asks == Array(repeating: false, count: 200))
      #expect(app.onCallbackQueue { sources.allSatisfy { $0.count == 1 } })
      other.stop()
    }

    private final class Answers: @unchecked Sendable {
      // Protected by the lock.
      private var all: [() -> Void] = []
      private let lock = NSLock()

      func keep(_ answer: @escaping () -> Void) { lock.withLock { all.append(answer) } }

      func giveAll() {
        let all = lock.withLock { self.all }
        for answer in all { answer() }
      }
    }

    /// The property is public: this test uses it without `@testable`.
    @Test func transferTimeoutIsPublic() {
      let batch = StorageBatch()
      #expect(batch.timeout == 600)
      batch.timeout = 5
      #expect(batch.timeout == 5)
    }

    @Test func manyThreadsMayUseFilesAndTheirTasks() async throws {
      Storage.storage().callbackQueue = Firestore.firestore().settings.dispatchQueue
      let place = Storage.storage().reference(withPath: "shared/file")
      let ended = CallbackValues<Void>()
      await withTaskGroup(of: Void.self) { group in
        for thread in 0..<8 {
          group.addTask {
            for index in 0..<200 {
              let bytes = Data("\(thread) \(index)".utf8)
              let file = File(place, data: bytes, mimeType: .plain)
              if file.data != bytes { Issue.record("a file has the bytes of another") }
              _ = (file.uploadTask, file.downloadTask)
              if index % 20 == 0 { file.save { _, _ in ended.add(()) } }
              if index % 33 == 0 { Ballcap.FileManager.shared.delete(key: file.path) }
            }
          }
        }
      }
      // The earlier transfers end in any order. The last one starts after them.
      for _ in 0..<80 { await ended.next() }
      let last = File(place, data: Data("last".utf8), mimeType: .plain)
      try await last.save()
      Ballcap.FileManager.shared.delete(key: last.path)
      #expect(try await File(place, mimeType: .plain).getData() == Data("last".utf8))
    }
  }
}
