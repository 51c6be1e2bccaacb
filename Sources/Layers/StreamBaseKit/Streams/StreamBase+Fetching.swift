// Reads more records than the first query of the stream.
//
// Fetched records stay live, and there are no gaps between the ranges:
//
//   1. One read gets the records of a page and determines where the page ends.
//   2. A listener takes over exactly this range: up to the last record, or to the end if there are no more
//      records.
//   3. If the first listener has a limit, new records could push records before the fetched ones out of it.
//      So it is replaced by a listener without a limit, for the range that it covered at that time.
//   4. A range ends at a document that can be a cursor, so not at a pending server timestamp.
//
// The database may be terminated before a read completes. Then the read fails.

import FirebaseCore
import FirebaseFirestore
import Foundation
import LayerKit

extension StreamBase {
  func kitFetch(_ count: Int, from start: String, to end: String?, _ done: (() -> Void)?) {
    guard let source = kitSource else { return }
    guard fixFirstSegment(source) else {
      // Asynchronous, because a caller that repeats the call while there is more would otherwise never
      // return.
      let done = Transferred(done)
      return source.ref.firestore.callbackQueue.async { done.value?() }
    }
    kitIsFetching = true
    let inflight = Inflight()
    var cursor = source.cursor(start, kitRecords[ExactKey(start)]?.item)
    // A page that starts after the frontier would leave a gap.
    if let frontier = kitFrontier, source.isBehind(cursor, frontier) { cursor = frontier }
    let range = PageRange(end: end.map { .values([$0]) } ?? source.end, isOpen: end == nil)
    page(count, count, cursor, range) { [weak self] error in
      withExtendedLifetime(inflight) {}
      self?.kitIsFetching = false
      if let error { self?.delegate?.streamDidFail(error) }
      done?()
    }
  }

  /// Reads `count` records. With `autoFetch`, reads further pages until the predicate has accepted `wanted`
  /// new records.
  private func page(
    _ count: Int, _ wanted: Int, _ start: QuerySource.Cursor, _ range: PageRange,
    _ done: @escaping (NSError?) -> Void
  ) {
    guard let source = kitSource else { return done(nil) }
    let query = source.query(from: start, to: range.end, limit: count + 1)
    query.getDocumentsOrFail { [weak self] snapshot, error in
      guard let self, let snapshot else { return done(error.map { $0 as NSError }) }
      let isWhole = snapshot.count <= count
      // The start document, if it still exists, is not part of the page.
      var documents = snapshot.documents
      if let first = documents.first, source.isAt(start, first) { documents.removeFirst() }
      documents = Array(documents.prefix(count))
      if !isWhole {
        while let last = documents.last, source.cursor(beside: last) == nil { documents.removeLast() }
      }
      let last = documents.last.flatMap { source.cursor(beside: $0) }
      if !isWhole {
        guard let last else { return done(nil) }
        // If all documents of the page are known but invisible, reads the next page. Otherwise a caller that
        // fetches after the last visible item would get the same page again.
        if documents.allSatisfy({ self.isHeldUnseen($0) }) { return page(count, wanted, last, range, done) }
      }
      let accepted = take(documents, start, isWhole ? range.end : last)
      reach(isWhole && range.isOpen ? .end : .to(last ?? start))
      if autoFetch, accepted < wanted, !isWhole, let last {
        page(count, wanted - accepted, last, range, done)
      } else {
        done(nil)
      }
    }
  }

  /// Whether a listener has the document and the predicate rejects it.
  private func isHeldUnseen(_ document: DocumentSnapshot) -> Bool {
    guard let record = kitRecords[ExactKey(document.documentID)] else { return false }
    return !record.holders.isEmpty && !kitAccepts(record.item)
  }

  /// Adds the documents of a range and listens to it. Returns the number of new documents that the predicate
  /// accepts.
  private func take(
    _ documents: [DocumentSnapshot], _ start: QuerySource.Cursor, _ end: QuerySource.Cursor?
  ) -> Int {
    guard let source = kitSource else { return 0 }
    let segment = kitNewSegment()
    let new = documents.filter { kitRecords[ExactKey($0.documentID)] == nil }
    kitReceive { for document in documents { kitHold(document, segment) } }
    kitListen(segment, to: source.query(from: start, to: end, limit: nil))
    return new.count { kitRecords[ExactKey($0.documentID)].map { kitAccepts($0.item) } ?? false }
  }

  /// Replaces the first listener if it has a limit. Returns false if no record after its range can be read
  /// now, because the range ends at a pending server timestamp.
  private func fixFirstSegment(_ source: QuerySource) -> Bool {
    guard let first = kitSegments.first, let limit = source.limit, first.id == 0, first.hasReported else {
      return true
    }
    var last: QuerySource.Cursor?
    if first.count > limit, let document = first.last {
      last = source.cursor(beside: document)
      guard last != nil else { return false }
    }
    let fixed = kitNewSegment()
    kitSegments.swapAt(0, kitSegments.count - 1)
    let end = last ?? source.end
    reach(last.map { .to($0) } ?? .end)
    kitListen(fixed, to: source.query(from: source.start, to: end, limit: nil)) { [weak self, weak first] in
      if let first { self?.retire(first) }
    }
    return true
  }

  private func retire(_ segment: StreamSegment) {
    guard segment.registration != nil else { return }
    segment.stop()
    kitSegments.removeAll { $0 === segment }
    kitReceive { for key in segment.keys { kitRelease(key, segment) } }
  }

  // MARK: Range

  /// Extends the range that was read. A later fetch that starts earlier does not shorten it.
  private func reach(_ place: Reach) {
    switch (kitReach, place) {
    // The end was reached, so the listeners cover all later records.
    case (.end, _): return
    // The first query has no limit, so it covers all later records.
    case (.first, .to) where kitSource?.limit == nil: return
    case (.to(let old), .to(let new)) where kitSource?.isBehind(new, old) != true: return
    default: kitReach = place
    }
  }

  /// The cursor at which the next page starts; nil if there is no more.
  var kitFrontier: QuerySource.Cursor? {
    switch kitReach {
    case .to(let place): return place
    case .end: return nil
    case .first:
      guard let limit = kitSource?.limit, let first = kitSegments.first, first.count > limit else {
        return nil
      }
      return first.last.map(QuerySource.Cursor.document)
    }
  }

  // MARK: Automatic fetches

  /// Called at the first snapshot. Ends the initial load, unless the predicate left too few items and a fetch
  /// has started.
  func kitEndInitialLoad() {
    guard !kitFetchUpToLimit(thenEndLoad: true) else { return }
    kitLoadIsDue = true
  }

  /// Fetches more records if the predicate left too few items and there is more. Like the first query, this
  /// aims at one item more than the limit. Returns whether a fetch has started.
  @discardableResult
  func kitFetchUpToLimit(thenEndLoad: Bool = false) -> Bool {
    guard autoFetch, predicate != nil, let source = kitSource, let limit = source.limit, !kitIsFetching,
      hasMore,
      (try? source.ref.firestore.checkLiving()) != nil
    else { return false }
    let accepted = kitPending.isDue ? kitRecords.values.count { kitAccepts($0.item) } : kitVisible.listedCount
    let wanted = Swift.min(limit + 1, afterPredicateLimit ?? .max)
    guard accepted < wanted, fixFirstSegment(source), let frontier = kitFrontier else { return false }
    kitIsFetching = true
    page(limit, wanted - accepted, frontier, PageRange(end: source.end, isOpen: true)) { [weak self] error in
      guard let self else { return }
      kitIsFetching = false
      if let error { delegate?.streamDidFail(error) }
      guard thenEndLoad else { return }
      kitLoadIsDue = true
      if kitPending.isDue { kitBatchIsDue() } else { kitApplyPending() }
    }
    return true
  }
}

/// How far the order was read.
enum Reach {
  /// As far as the first query reads.
  case first
  case to(QuerySource.Cursor)
  /// To the end, including all later records.
  case end
}

/// The end of a page.
private struct PageRange {
  let end: QuerySource.Cursor?
  /// Whether `end` is the end of the stream.
  let isOpen: Bool
}
