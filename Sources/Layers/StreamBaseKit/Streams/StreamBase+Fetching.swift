// Reads more records than the first query of the stream.
//
// Fetched records stay live, and there are no gaps between the ranges:
//
//   1. One read gets the records of a page and determines where the page ends.
//   2. A listener takes over exactly this range. The range ends at the last record of the page, or at the end
//      of the stream if there are no more records.
//   3. If the first listener has a limit, new records could push other records out of its range, which would
//      leave a gap before the fetched records. The first listener is therefore replaced by a listener without
//      a limit. The new listener has the range that the first listener covered at that time.
//   4. A range ends only at a document that can be a cursor. A document with a pending server timestamp
//      cannot be a cursor.
//
// The database may be terminated before a read completes. In this case the read fails.

import FirebaseCore
import FirebaseFirestore
import Foundation
import LayerKit

extension StreamBase {
  func kitFetch(_ count: Int, from start: String, to end: String?, _ done: (() -> Void)?) {
    guard let source = kitSource else { return }
    guard removeFirstSegmentLimit(source) else {
      // `done` is called asynchronously. Otherwise, a caller that fetches again in `done` as long as
      // `hasMore` is true would recurse without end.
      let done = Transferred(done)
      return source.ref.firestore.callbackQueue.async { done.value?() }
    }
    kitIsFetching = true
    let inflight = Inflight()
    var cursor = source.cursor(start, kitRecords[ExactKey(start)]?.item)
    // If a page started after the frontier, there would be a gap.
    if let frontier = kitFrontier, source.isAfter(cursor, frontier) { cursor = frontier }
    let range = PageRange(end: end.map { .values([$0]) } ?? source.end, isOpen: end == nil)
    page(count, count, start: cursor, range: range) { [weak self] error in
      withExtendedLifetime(inflight) {}
      self?.kitIsFetching = false
      if let error { self?.delegate?.streamDidFail(error) }
      done?()
    }
  }

  /// Reads `count` records. With `autoFetch`, reads further pages until the predicate has accepted `wanted`
  /// new records.
  private func page(
    _ count: Int, _ wanted: Int, start: QuerySource.Cursor, range: PageRange,
    _ done: @escaping (NSError?) -> Void
  ) {
    guard let source = kitSource else { return done(nil) }
    let query = source.query(from: start, to: range.end, limit: count + 1)
    query.getDocumentsOrFail { [weak self] snapshot, error in
      guard let self, let snapshot else { return done(error.map { $0 as NSError }) }
      let isWhole = snapshot.count <= count
      // The result includes the start document if it still exists. It is not part of the page.
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
        if documents.allSatisfy({ self.isHeldUnseen($0) }) {
          return page(count, wanted, start: last, range: range, done)
        }
      }
      let accepted = addRange(documents, start, end: isWhole ? range.end : last)
      extendReadRange(isWhole && range.isOpen ? .end : .to(last ?? start))
      if autoFetch, accepted < wanted, !isWhole, let last {
        page(count, wanted - accepted, start: last, range: range, done)
      } else {
        done(nil)
      }
    }
  }

  /// Whether a listener has already reported the document and the predicate rejects it.
  private func isHeldUnseen(_ document: DocumentSnapshot) -> Bool {
    guard let record = kitRecords[ExactKey(document.documentID)] else { return false }
    return !record.holders.isEmpty && !kitAccepts(record.item)
  }

  /// Adds the documents of a range to the stream and listens to the range. Returns the number of new
  /// documents that the predicate accepts.
  private func addRange(
    _ documents: [DocumentSnapshot], _ start: QuerySource.Cursor, end: QuerySource.Cursor?
  ) -> Int {
    guard let source = kitSource else { return 0 }
    let segment = kitNewSegment()
    let new = documents.filter { kitRecords[ExactKey($0.documentID)] == nil }
    kitReceive { for document in documents { kitRetain(document, segment) } }
    kitListen(segment, to: source.query(from: start, to: end, limit: nil))
    return new.count { kitRecords[ExactKey($0.documentID)].map { kitAccepts($0.item) } ?? false }
  }

  /// Replaces the first listener if it has a limit. Returns false if its range ends at a pending server
  /// timestamp, because no record after the range can be read then.
  private func removeFirstSegmentLimit(_ source: QuerySource) -> Bool {
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
    extendReadRange(last.map { .to($0) } ?? .end)
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

  /// Extends the range that was read. If a later fetch ends earlier, the range does not shrink.
  private func extendReadRange(_ place: ReadPosition) {
    switch (kitReadPosition, place) {
    // The end was already reached, so the listeners cover all later records.
    case (.end, _): return
    // The first query has no limit, so it covers all later records.
    case (.first, .to) where kitSource?.limit == nil: return
    case (.to(let old), .to(let new)) where kitSource?.isAfter(new, old) != true: return
    default: kitReadPosition = place
    }
  }

  /// The cursor at which the next page starts; nil if there are no more records.
  var kitFrontier: QuerySource.Cursor? {
    switch kitReadPosition {
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

  /// Ends the initial load after the first snapshot. If the predicate left too few items, fetches more
  /// records instead, and the load ends with that fetch.
  func kitEndInitialLoad() {
    guard !kitFetchUpToLimit(thenEndLoad: true) else { return }
    kitLoadIsDue = true
  }

  /// Fetches more records if the predicate left too few items and there may be more records. The fetch aims
  /// at one item more than the limit, as the first query does. Returns whether a fetch has started.
  @discardableResult
  func kitFetchUpToLimit(thenEndLoad: Bool = false) -> Bool {
    guard autoFetch, predicate != nil, let source = kitSource, let limit = source.limit, !kitIsFetching,
      hasMore,
      (try? source.ref.firestore.checkLiving()) != nil
    else { return false }
    let accepted = kitPending.isDue ? kitRecords.values.count { kitAccepts($0.item) } : kitVisible.listedCount
    let wanted = Swift.min(limit + 1, afterPredicateLimit ?? .max)
    guard accepted < wanted, removeFirstSegmentLimit(source), let frontier = kitFrontier else { return false }
    kitIsFetching = true
    page(limit, wanted - accepted, start: frontier, range: PageRange(end: source.end, isOpen: true)) {
      [weak self] error in
      guard let self else { return }
      kitIsFetching = false
      if let error { delegate?.streamDidFail(error) }
      guard thenEndLoad else { return }
      kitLoadIsDue = true
      if kitPending.isDue { kitScheduleBatch() } else { kitApplyPending() }
    }
    return true
  }
}

/// The position up to which the records were read.
enum ReadPosition {
  /// The end of the first query's range.
  case first
  case to(QuerySource.Cursor)
  /// The end of the stream. The listeners cover all later records.
  case end
}

/// The end of a page.
private struct PageRange {
  let end: QuerySource.Cursor?
  /// Whether `end` is the end of the stream.
  let isOpen: Bool
}
