// Commit and BatchWrite.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@Suite struct CommitTests {
  @Test(arguments: WireFormat.allCases)
  func resultsHaveUpdateTimesAndTransformResults(_ format: WireFormat) throws {
    let service = try TestService(format)
    var counted = TestService.set("rooms/b", [("n", .integer(1))])
    var increment = Wire.DocumentTransform.FieldTransform()
    increment.fieldPath = "count"
    increment.transformType = .increment(.integer(5))
    counted.updateTransforms = [increment]
    let response = try service.commit([TestService.set("rooms/a", 1), counted, TestService.delete("rooms/c")])
    #expect(response.writeResults.count == 3)
    #expect(response.writeResults[0].updateTime == response.commitTime)
    #expect(response.writeResults[0].transformResults.isEmpty)
    #expect(response.writeResults[1].transformResults == [.integer(5)])
    #expect(response.writeResults[2].updateTime == nil)
    let stored = try #require(try service.store.document(at: DocumentPath(["rooms", "b"])))
    #expect(stored.fields["count"] == .integer(5))
    #expect(response.commitTime == Wire.Timestamp(stored.updateTime))
  }

  @Test(arguments: WireFormat.allCases)
  func aDocumentCanBeWrittenTwiceInOneCommit(_ format: WireFormat) throws {
    let service = try TestService(format)
    let response = try service.commit([TestService.set("rooms/a", 1), TestService.set("rooms/a", 2)])
    #expect(response.writeResults.map(\.updateTime) == [response.commitTime, response.commitTime])
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"] == .integer(2))
  }

  @Test(arguments: WireFormat.allCases)
  func aWriteThatChangesNothingKeepsItsUpdateTime(_ format: WireFormat) throws {
    let service = try TestService(format)
    let first = try service.commit([TestService.set("rooms/a", 1)])
    let second = try service.commit([TestService.set("rooms/a", 1)])
    #expect(second.writeResults.first?.updateTime == first.commitTime)
    #expect(second.commitTime != first.commitTime)
  }

  @Test func aStaleUpdateTimeIsRefusedInTheWordsOfFirestore() throws {
    let service = try TestService()
    let time = try service.commit([TestService.set("rooms/a", 1)]).commitTime
    let stored = try #require(try service.store.document(at: DocumentPath(["rooms", "a"]))?.updateTime)
    #expect(time == Wire.Timestamp(stored))
    for (path, version) in [("rooms/a", stored.microseconds), ("rooms/b", 0)] {
      var write = TestService.set(path, 2)
      write.currentDocument = Wire.Precondition()
      write.currentDocument?.conditionType = .updateTime(Wire.Timestamp(seconds: 1, nanos: 0))
      let error = try service.error("Commit", TestService.commitRequest([write]))
      let sentence = "the stored version (\(version)) does not match the required base version (1000000)"
      #expect(error == RemoteError(.failedPrecondition, sentence))
    }
  }

  @Test(arguments: WireFormat.allCases)
  func aFailedPreconditionWritesNothing(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1])
    for (write, code) in [
      (TestService.set("rooms/a", 2).requiring(exists: false), RemoteError.Code.alreadyExists),
      (TestService.set("rooms/b", 2).requiring(exists: true), .notFound),
      (TestService.delete("rooms/b").requiring(exists: true), .notFound),
      (TestService.set("rooms/a", 2).requiring(Wire.Timestamp(seconds: 1, nanos: 0)), .failedPrecondition),
    ] {
      let request = TestService.commitRequest([TestService.set("rooms/other", 3), write])
      #expect(try service.error("Commit", request)?.code == code)
    }
    #expect(try service.store.document(at: DocumentPath(["rooms", "other"])) == nil)
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"] == .integer(1))
  }

  @Test func errorsHaveTheFullNameOfTheDocument() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    for (write, error) in [
      (
        TestService.set("rooms/b", 2).requiring(exists: true),
        RemoteError(.notFound, "No document to update: \(TestService.name("rooms/b"))")
      ),
      (
        TestService.delete("rooms/b").requiring(exists: true),
        RemoteError(.notFound, "No document to delete: \(TestService.name("rooms/b"))")
      ),
      (
        TestService.set("rooms/a", 2).requiring(exists: false),
        RemoteError(.alreadyExists, "Document already exists: \(TestService.name("rooms/a"))")
      ),
    ] {
      #expect(try service.error("Commit", TestService.commitRequest([write])) == error)
      let transaction = try service.begin()
      _ = try service.get("rooms/a", "rooms/b", by: .transaction(transaction))
      #expect(try service.error("Commit", TestService.commitRequest([write], in: transaction)) == error)
    }
    var patch = TestService.set("rooms/b", 2).requiring(exists: true)
    patch.updateMask = Wire.DocumentMask()
    let transaction = try service.begin()
    _ = try service.get("rooms/b", by: .transaction(transaction))
    #expect(
      try service.error("Commit", TestService.commitRequest([patch], in: transaction))
        == RemoteError(.notFound, "No document to update: \(TestService.name("rooms/b"))"))
  }

  @Test func aDocumentIsVerifiedOrWritten() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    var verify = Wire.Write()
    verify.operation = .verify(TestService.name("rooms/a"))
    verify = verify.requiring(exists: true)
    let set = TestService.set("rooms/a", 2)
    #expect(
      try service.error("Commit", TestService.commitRequest([verify, set]))?.message
        == "the same document cannot be verified and then written in a single request")
    #expect(
      try service.error("Commit", TestService.commitRequest([set, verify]))?.message
        == "the same document cannot be written and then verified in a single request")
    try service.commit([verify, TestService.set("rooms/b", 2)])
  }

  @Test func anEmptyCommitTellsTheTime() throws {
    let service = try TestService()
    let last = try service.commit([TestService.set("rooms/a", 1)])
    let empty = try service.commit([])
    #expect(empty.writeResults.isEmpty)
    #expect(empty.commitTime == last.commitTime)
  }

  @Test func theRulesCanRefuseACommit() throws {
    var service = try TestService()
    service.metadata.user = "ada"
    var rules = service.authority.rules
    rules.mayWrite = { user, _ in user == "ada" ? nil : RemoteError(.permissionDenied, "No.") }
    service.authority.setRules(rules)
    try service.set(["rooms/a": 1])
    service.metadata.user = nil
    let refused = TestService.commitRequest([TestService.set("rooms/a", 2)])
    #expect(try service.error("Commit", refused) == RemoteError(.permissionDenied, "No."))
  }

  @Test(arguments: WireFormat.allCases)
  func writesOfABatchSucceedOrFailOnTheirOwn(_ format: WireFormat) throws {
    let service = try TestService(format)
    var request = Wire.BatchWriteRequest()
    request.database = TestService.database
    request.writes = [
      TestService.set("rooms/a", 1), TestService.set("rooms/b", 2).requiring(exists: true),
      TestService.set("rooms/c", 3), TestService.delete("rooms/d"),
    ]
    let response = try service.answer("BatchWrite", request, as: Wire.BatchWriteResponse.self)
    #expect(response.status.map(\.code) == [0, 5, 0, 0])
    #expect(response.writeResults.map { $0.updateTime != nil } == [true, false, true, false])
    #expect(try service.store.count(StructuredQuery(.collection(CollectionPath(["rooms"])))) == 2)
  }

  /// A batch must not fill the queue of commits, on which all clients wait.
  @Test func writesOfALargeBatchAreCommittedInGroups() throws {
    let service = try TestService()
    let (store, waitingMax) = (service.store, Locked((begun: 0, max: 0)))
    var rules = service.authority.rules
    rules.mayWrite = { _, _ in
      let done = store.count(ofDocuments: "rooms")
      waitingMax.withLock { state in
        state.begun += 1
        state.max = max(state.max, state.begun - done)
      }
      return nil
    }
    service.authority.setRules(rules)
    var request = Wire.BatchWriteRequest()
    request.database = TestService.database
    request.writes = (0..<500).map { TestService.set("rooms/\($0)", Int64($0)) }
    let response = try service.answer("BatchWrite", request, as: Wire.BatchWriteResponse.self)
    #expect(response.status.count == 500 && response.status.allSatisfy { $0.code == 0 })
    #expect(Set(response.writeResults.map(\.updateTime)).count == 500)
    #expect(waitingMax.withLock { $0.begun == 500 && $0.max <= 50 })

    request.writes = (0..<120).map { number in
      TestService.set("rooms/\(number * 10)", 1).requiring(exists: true)
    }
    let statuses = try service.answer("BatchWrite", request, as: Wire.BatchWriteResponse.self).status
    #expect(statuses.map(\.code) == (0..<120).map { $0 < 50 ? 0 : 5 })
  }

  @Test func aBatchHasALimitOfWrites() throws {
    let service = try TestService()
    var request = Wire.BatchWriteRequest()
    request.database = TestService.database
    request.writes = (0..<501).map { TestService.set("rooms/\($0)", Int64($0)) }
    #expect(
      try service.error("BatchWrite", request)
        == RemoteError(.invalidArgument, "maximum 500 writes allowed per request"))
    #expect(service.store.count(ofDocuments: "rooms") == 0)
  }

  @Test func aBatchWritesADocumentOnce() throws {
    let service = try TestService()
    var request = Wire.BatchWriteRequest()
    request.database = TestService.database
    request.writes = [TestService.set("rooms/a", 1), TestService.set("rooms/a", 2)]
    #expect(
      try service.error("BatchWrite", request)
        == RemoteError(
          .invalidArgument, "the same document cannot be written more than once in a single request"))
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"])) == nil)
  }

  @Test(arguments: WireFormat.allCases)
  func documentsAreCreatedUpdatedAndDeleted(_ format: WireFormat) throws {
    let service = try TestService(format)
    var create = Wire.CreateDocumentRequest()
    create.parent = TestService.documents
    create.collectionId = "rooms"
    create.documentId = "a"
    create.document = Wire.Document()
    create.document?.fields = StoredMap([("n", .integer(1)), ("m", .integer(2))])
    let created = try service.answer("CreateDocument", create, as: Wire.Document.self)
    #expect(created.name == TestService.name("rooms/a"))
    #expect(created.fields == StoredMap([("n", .integer(1)), ("m", .integer(2))]))
    #expect(created.createTime == created.updateTime)
    #expect(try service.error("CreateDocument", create)?.code == .alreadyExists)

    var update = Wire.UpdateDocumentRequest()
    update.document = Wire.Document()
    update.document?.name = created.name
    update.document?.fields = StoredMap([("n", .integer(5))])
    update.updateMask = Wire.DocumentMask()
    update.updateMask?.fieldPaths = ["n"]
    let updated = try service.answer("UpdateDocument", update, as: Wire.Document.self)
    #expect(updated.fields == StoredMap([("n", .integer(5)), ("m", .integer(2))]))
    #expect(updated.createTime == created.createTime)
    #expect(updated.updateTime != created.updateTime)
    update.mask = update.updateMask
    #expect(
      try service.answer("UpdateDocument", update, as: Wire.Document.self).fields
        == StoredMap([("n", .integer(5))]))

    var delete = Wire.DeleteDocumentRequest()
    delete.name = created.name
    _ = try service.answer("DeleteDocument", delete, as: Nothing.self)
    _ = try service.answer("DeleteDocument", delete, as: Nothing.self)
    delete.currentDocument = Wire.Precondition()
    delete.currentDocument?.conditionType = .exists(true)
    #expect(try service.error("DeleteDocument", delete)?.code == .notFound)
  }

  @Test func theServiceChoosesTheIdOfADocument() throws {
    let service = try TestService()
    var create = Wire.CreateDocumentRequest()
    create.parent = TestService.documents
    create.collectionId = "rooms"
    let names = try (0..<2).map { _ in
      try service.answer("CreateDocument", create, as: Wire.Document.self).name
    }
    #expect(Set(names).count == 2)
    for name in names { #expect(name.utf8.count == TestService.name("rooms/").utf8.count + 20) }
  }
}

extension DocumentStore {
  fileprivate func count(ofDocuments collection: String) -> Int {
    (try? count(StructuredQuery(.collection(CollectionPath(unchecked: [collection]))))) ?? -1
  }
}
