// Targets, changes, statuses and names survive the wire.

import DocumentStore
import OfflineSync
import Testing

@testable import FirestoreWire

struct StreamTranslationTests {
  private let database = DatabaseName(projectID: "p", databaseID: "(default)")

  // MARK: Names

  @Test func namesOfDocumentsAndParentsAreParsed() throws {
    #expect(try DatabaseName("projects/p/databases/(default)") == database)
    #expect(database.text == "projects/p/databases/(default)")
    let path = try DocumentPath(["a", "b"])
    #expect(database.name(of: path) == "projects/p/databases/(default)/documents/a/b")
    #expect(try database.path(of: database.name(of: path)) == path)
    #expect(try database.parent(of: database.name(ofParent: nil)) == nil)
    #expect(try database.parent(of: database.name(ofParent: path)) == path)
    #expect(try DatabaseName.database(of: "projects/q/databases/d/documents").projectID == "q")
    #expect(throws: RemoteError.self) { try DatabaseName("projects/p/databases/d/documents") }
    #expect(throws: RemoteError.self) { try database.path(of: "projects/p/databases/d/documents/a/b") }
  }

  // MARK: Targets

  @Test func targetsSurviveTheWire() throws {
    let query = StructuredQuery(.collection(try CollectionPath(["c"])))
    let document = StructuredQuery(.document(try DocumentPath(["c", "d"])))
    let targets: [WatchTarget] = [
      WatchTarget(TargetID(2), query), WatchTarget(TargetID(4), document, purpose: .limboResolution),
      WatchTarget(
        TargetID(6), query, purpose: .existenceFilterMismatch, resumeToken: [1, 2], expectedCount: 3),
      WatchTarget(
        TargetID(8), query, purpose: .existenceFilterMismatchBloom,
        readTime: SnapshotVersion(microseconds: 7), expectedCount: 0),
    ]
    for target in targets {
      for isOnce in [false, true] {
        let (wire, labels) = try database.wire(TargetRequest(target, isOnce: isOnce))
        let read = try database.target(try Wire.Target(protobuf: try wire.protobuf()), labels: labels)
        #expect(read.isOnce == isOnce)
        #expect(read.target.query.targetID == target.query.targetID)
        var same = read.target
        same.query = target.query
        #expect(same == target)
      }
    }
  }

  @Test(arguments: [
    (#"{}"#, RemoteError.Code.invalidArgument), (#"{"query":{}}"#, .invalidArgument),
    (#"{"documents":{"documents":["x"]}}"#, .invalidArgument), (#"{"documents":{}}"#, .unimplemented),
    (
      #"{"query":{"parent":"projects/p/databases/(default)/documents","structuredQuery":{"from":[{"collectionId":"c"}],"offset":1}}}"#,
      .unimplemented
    ),
  ])
  func aTargetThatCannotBeWatchedIsRefused(json: String, code: RemoteError.Code) throws {
    let wire = try Wire.Target(json: Array(json.utf8))
    let error = #expect(throws: RemoteError.self) { try database.target(wire) }
    #expect(error?.code == code)
  }

  // MARK: Changes

  @Test func changesSurviveTheWire() throws {
    let path = try DocumentPath(["c", "d"])
    let ids = [TargetID(2), TargetID(4)]
    let (version, none) = (SnapshotVersion(microseconds: 1_000_003), SnapshotVersion.none)
    let found = RemoteDocument(
      path, StoredMap([("a", .integer(1))]), version: version, createTime: SnapshotVersion(microseconds: 1))
    let absent = RemoteDocument(path, nil, version: version)
    let filter = BloomFilter.Parts(bitmap: [1, 2], padding: 3, hashCount: 7)
    let changes: [(WatchChange, SnapshotVersion)] = [
      (.target(.added, ids), none), (.target(.current, ids, resumeToken: [1]), none),
      (.target(.noChange, [], resumeToken: [1]), version), (.target(.reset, ids), none),
      (.target(.removed, ids, cause: RemoteError(.permissionDenied, "no")), none),
      (.document(path, found, updated: ids, removed: [TargetID(6)]), none),
      (.document(path, absent, updated: [], removed: ids), none),
      (.document(path, nil, updated: [], removed: ids), none),
      (.existenceFilter(TargetID(2), count: 5, filter), none),
      (.existenceFilter(TargetID(2), count: 5, nil), none),
    ]
    for (change, version) in changes {
      let wire = database.wire(change, version)
      for read in [
        try Wire.ListenResponse(protobuf: try wire.protobuf()),
        try Wire.ListenResponse(json: try wire.json()),
      ] {
        let back = try #require(try database.change(read))
        #expect(back.change == change)
        #expect(back.version == version)
      }
    }
    #expect(try database.change(Wire.ListenResponse()) == nil)
  }

  @Test func theTimeOfAMessageAboutTargetsIsNotASnapshot() throws {
    let wire = database.wire(.target(.current, [TargetID(2)]), SnapshotVersion(microseconds: 5))
    #expect(wire.responseType?.targetChange?.readTime == Wire.Timestamp(seconds: 0, nanos: 5000))
    #expect(try database.change(wire)?.version == SnapshotVersion.none)
  }

  @Test func anAbsentDocumentLeavesTheTargetThatAskedForIt() throws {
    let path = try DocumentPath(["c", "d"])
    let absent = RemoteDocument(path, nil, version: SnapshotVersion(microseconds: 5))
    let wire = database.wire(.document(path, absent, updated: [TargetID(2)], removed: []), .none)
    #expect(wire.responseType?.documentDelete?.removedTargetIds == [2])
  }

  // MARK: Results and statuses

  @Test func resultsAndStatusesSurviveTheWire() throws {
    let result = WriteResult(
      version: SnapshotVersion(microseconds: 5), transformResults: [.integer(1), .null])
    #expect(WriteResult(Wire.WriteResult(result)) == result)
    #expect(Wire.WriteResult(WriteResult(version: .none)).updateTime == nil)
    for code in RemoteError.Code.allCases {
      let error = RemoteError(code, "text")
      #expect(RemoteError(Wire.Status(error)) == error)
    }
    #expect(RemoteError(Wire.Status()) == nil)
    var unknown = Wire.Status()
    unknown.code = 99
    #expect(RemoteError(unknown)?.code == .unknown)
  }

  @Test func projectionsKeepTheFieldsOfTheMask() {
    let fields = StoredMap([("a", .integer(1)), ("m", .map(StoredMap([("b", .null), ("c", .null)])))])
    #expect(fields.projected(nil) == fields)
    #expect(fields.projected(FieldMask([])).isEmpty)
    let mask = FieldMask([["m", "b"], ["x", "y"]].map(StoredFieldPath.init(unchecked:)))
    #expect(fields.projected(mask) == StoredMap([("m", .map(StoredMap([("b", .null)])))]))
  }
}
