// More of the order than the stream began with.
//
// What was fetched stays live, and there are no holes between the ranges:
//
//   1. one read brings the records from the start on, and tells where they end
//   2. a listener takes over just that range: up to the last of them, or to the end if there are no more
//   3. if the first listener has a limit, whatever comes would push records out of it that lie before those
//      that were fetched; so it gives way to one of the range that it had by then, without a limit
//   4. a range ends where a query can: not at a time that the remote has still to set
//
// The database may be terminated before an answer comes. What is asked then fails.

import FirebaseCore
import FirebaseFirestore
import Foundation
import LayerKit

extension StreamBase {
  func kitFetch(_ count: Int, from start: String, to end: String?, _ done: (() -> Void)?) {
    guard let source = kitSource else { return }
    guard fixFirstSegment(source) else {
      // Not at once: who asks again as long as there is more would never come back.
      let done = Transferred(done)
      return source.ref.firestore.callbackQueue.async { done.value?() }
    }
    kitIsFetching = true
    let inflight = Inflight()
    var cursor = source.cursor(start, kitRecords[ExactKey(start)]?.item)
    // Behind it, there would be a hole.
    if let frontier = kitFrontier, source.isBehind(cursor, frontier) { cursor = frontier }
    let range = PageRange(end: end.map { .values([$0]) } ?? source.end, isOpen: end == nil)
    page(count, count, cursor, range) { [weak self] error in
      withExtendedLifetime(inflight) {}
      self?.kitIsFetching = false
      if let error { self?.delegate?.streamDidFail(error) }
      done?()
    }
  }

  /// Reads `count` records, and with `autoFetch` more of them until `wanted` are accepted.
  private func page(
    _ count: Int, _ wanted: Int, _ start: QuerySource.Cursor, _ range: PageRange,
    _ done: @escaping (NSError?) -> Void
  ) {
    guard let source = kitSource else { return done(nil) }
    let query = source.query(from: start, to: range.end, limit: count + 1)
    query.getDocumentsOrFail { [weak self] snapshot, error in
      guard let self, let snapshot else { return done(error.map { $0 as NSError }) }
      let isWhole = snapshot.count <= count
      // The start itself is no news, if it is still there.
      var documents = snapshot.documents
      if let first = documents.first, source.isAt(start, first) { documents.removeFirst() }
      documents = Array(documents.prefix(count))
      if !isWhole {
        while let last = documents.last, source.cursor(beside: last) == nil { documents.removeLast() }
      }
      let last = documents.last.flatMap { source.cursor(beside: $0) }
      if !isWhole {
        guard let last else { return done(nil) }
        // Whoever asks for more behind the last visible item would be told nothing, again and again.
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

  /// Whether a listener has it, and the predicate does not accept it.
  private func isHeldUnseen(_ document: DocumentSnapshot) -> Bool {
    guard let record = kitRecords[ExactKey(document.documentID)] else { return false }
    return !record.holders.isEmpty && !kitAccepts(record.item)
  }

  /// Adds the documents of a range and listens to it. Returns how many of them are new and accepted.
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

  /// False if nothing can be read behind it now, because it ends at a time that the remote has still to set.
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

  // MARK: How far

  /// What was reached once stays reached, wherever a later fetch began.
  private func reach(_ place: Reach) {
    switch (kitReach, place) {
    // Behind the end, everything is followed.
    case (.end, _): return
    // So it is where the stream began without a limit.
    case (.first, .to) where kitSource?.limit == nil: return
    case (.to(let old), .to(let new)) where kitSource?.isBehind(new, old) != true: return
    default: kitReach = place
    }
  }

  /// Where to go on; nil if there is no more.
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

  // MARK: Without being asked

  /// The first snapshot is there. It is all, unless the predicate left too little of it.
  func kitEndInitialLoad() {
    guard !kitFetchUpToLimit(thenEndLoad: true) else { return }
    kitLoadIsDue = true
  }

  /// Whether that is necessary, and possible. As with the first query, there is to be one item more than the
  /// limit.
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

/// Up to where the order was read.
enum Reach {
  /// As far as the first query goes.
  case first
  case to(QuerySource.Cursor)
  /// Everything, whatever comes.
  case end
}

/// Where pages end.
private struct PageRange {
  let end: QuerySource.Cursor?
  /// That is where the stream ends.
  let isOpen: Bool
}
