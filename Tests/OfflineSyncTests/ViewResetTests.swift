// A view whose target starts over, because its documents differ from the remote's.

import DocumentStore
import Testing

@testable import OfflineSync

@Suite struct ViewResetTests {
  /// The remote has sent its whole target, but the filter after it does not fit. A write that is then
  /// accepted changes the view before the remote has answered the new request.
  @Test func untilTheNewAnswerNoDocumentIsInLimbo() {
    let documents = (0..<5).map { number in
      SyncedDocument(
        DocumentPath(unchecked: ["rooms", "\(number)"]), .found(StoredMap()), version: .first)
    }
    let paths = Set(documents.map(\.path))
    var view = SyncView(StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"]))), synced: paths)
    let complete = TargetChange(isCurrent: true)
    #expect(view.apply(view.compute(documents), complete).snapshot?.isFromCache == false)

    var reset = complete
    reset.removed = paths
    let mismatch = view.apply(view.compute([]), reset, isPendingReset: true)
    #expect(mismatch.snapshot?.isFromCache == true)
    let write = view.apply(view.compute([documents[0]]))
    #expect(write.addedLimbo == [])
    #expect(!view.isSynced)

    var answer = complete
    answer.added = paths.subtracting([documents[4].path])
    #expect(view.apply(view.compute([]), answer).addedLimbo == [documents[4].path])
  }
}
