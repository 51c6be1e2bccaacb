// How a session takes a snapshot over.

import OfflineSync
import Testing

@testable import Authority
@testable import DocumentStore

@Suite struct SessionStateTests {
  private let paths = ["a", "b", "c"].map { SessionWorld.room($0) }

  private func state(_ number: Int64?, at path: DocumentPath) -> Result<LiveQueryState, DocumentStoreError> {
    let documents = number.map {
      StoredDocument(
        path: path, createTime: .epoch, updateTime: .epoch, fields: StoredMap([("n", .integer($0))]))
    }
    let entries = [documents].compactMap { $0 }.map { LiveEntry([], [], document: $0) }
    return .success(LiveQueryState(documents: LiveResults(sorted: entries), isFirst: true, changes: []))
  }

  private func snapshot(
    _ queries: [Int32: Result<LiveQueryState, DocumentStoreError>]
  ) -> StreamSnapshot { StreamSnapshot(time: nil, position: nil, queries: queries) }

  private func added(_ state: inout WatchSession.State) throws -> [Int32] {
    var request = WatchTarget(TargetID(2), StructuredQuery(.document(paths[0])))
    request.documents = paths
    let target = try state.add(request, nil)
    return try #require(target).queryIDs
  }

  /// The states of some queries come again together with the first ones of the others.
  @Test func aTargetOfSeveralDocumentsIsCompletedInOneSnapshot() throws {
    var state = WatchSession.State()
    let ids = try added(&state)
    #expect(ids.count == 3)
    let first = state.take(snapshot([ids[0]: self.state(1, at: paths[0])]))
    #expect(first?.complete.isEmpty == true && first?.changes.isEmpty == true && !state.hasSentTargets)
    let rest = state.take(
      snapshot([
        ids[0]: self.state(5, at: paths[0]), ids[1]: self.state(nil, at: paths[1]),
        ids[2]: self.state(3, at: paths[2]),
      ]))
    #expect(rest?.changes.isEmpty == true, "the documents are part of the whole state")
    #expect(rest?.complete.map(\.target.id) == [TargetID(2)])
    #expect(rest?.complete.first?.present.map { $0.fields["n"] } == [.integer(5), .integer(3)])
    #expect(rest?.complete.first?.target.isSent == true && state.hasSentTargets)
    let later = state.take(snapshot([ids[1]: self.state(2, at: paths[1])]))
    #expect(later?.complete.isEmpty == true, "a target is completed once")
  }

  /// Regression: the last document came with a later change of the first one, which was then sent as a change
  /// of a target that the client did not have.
  @Test func theStateOfTheLastDocumentIsInTheSnapshotThatCompletesTheTarget() throws {
    var state = WatchSession.State()
    let ids = try added(&state)
    _ = state.take(snapshot([ids[1]: self.state(1, at: paths[1]), ids[2]: self.state(1, at: paths[2])]))
    let news = state.take(
      snapshot([
        ids[0]: self.state(1, at: paths[0]), ids[1]: self.state(2, at: paths[1]),
        ids[2]: self.state(3, at: paths[2]),
      ]))
    #expect(news?.complete.first?.present.map { $0.fields["n"] } == [.integer(1), .integer(2), .integer(3)])
    #expect(news?.changes.isEmpty == true)
  }

  @Test func aFailedQueryDoesNotCompleteItsTarget() throws {
    var state = WatchSession.State()
    let ids = try added(&state)
    let news = state.take(
      snapshot([
        ids[0]: self.state(1, at: paths[0]), ids[1]: .failure(.invalidArgument("No.")),
        ids[2]: self.state(3, at: paths[2]),
      ]))
    #expect(news?.complete.isEmpty == true && news?.failures.map(\.target.id) == [TargetID(2)])
  }

  @Test func aClosedSessionTakesNothing() {
    var state = WatchSession.State()
    let wasOpen = state.close()
    let news = state.take(snapshot([:]))
    #expect(wasOpen && news == nil)
  }
}
