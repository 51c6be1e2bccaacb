// Converts the snapshots of queries to records.

import FirebaseFirestore
import Foundation
import LayerKit

/// A range of the order, and the listener that covers it.
final class StreamSegment {
  let id: Int
  var registration: (any ListenerRegistration)?
  /// The keys of the documents in the range.
  var keys = Set<ExactKey>()
  var hasReported = false
  /// The number of documents in the last snapshot.
  var count = 0
  var last: DocumentSnapshot?

  init(id: Int) { self.id = id }

  func stop() {
    registration?.remove()
    registration = nil
  }
}

extension StreamBase {
  // MARK: Listening

  func kitConnect(_ source: QuerySource) {
    kitInflight = Inflight()
    kitListen(kitNewSegment(), to: source.first)
  }

  func kitNewSegment() -> StreamSegment {
    let segment = StreamSegment(id: kitSegmentCount)
    kitSegmentCount += 1
    kitSegments.append(segment)
    return segment
  }

  /// Starts a listener. `reported` is called after each snapshot but not after a failure, so a failed
  /// listener does not replace another listener. The listener also fails if the database was terminated.
  func kitListen(_ segment: StreamSegment, to query: Query, _ reported: (() -> Void)? = nil) {
    segment.registration = query.listenOrFail { [weak self, unowned segment] snapshot, error in
      guard let self else { return }
      guard let snapshot else {
        if let error { receive(segment, error as NSError) }
        return
      }
      receive(segment, snapshot)
      reported?()
    }
  }

  private func receive(_ segment: StreamSegment, _ error: NSError) {
    segment.stop()
    guard kitLoad.isFinished else {
      kitLoadIsDue = false
      kitFinishLoad(error)
      return
    }
    delegate?.streamDidFail(error)
  }

  private func receive(_ segment: StreamSegment, _ snapshot: QuerySnapshot) {
    let isFirst = !segment.hasReported
    segment.hasReported = true
    segment.count = snapshot.count
    segment.last = snapshot.lastDocument { _ in true }
    kitReceive {
      if isFirst, !segment.keys.isEmpty {
        let found = Set(snapshot.documents.map { ExactKey($0.documentID) })
        for key in segment.keys.subtracting(found) { kitRelease(key, segment) }
      }
      for change in snapshot.documentChanges {
        switch change.type {
        case .added, .modified: kitRetain(change.document, segment)
        case .removed: kitRelease(ExactKey(change.document.documentID), segment)
        }
      }
      if isFirst, !kitLoad.isFinished, segment.id == 0 { kitEndInitialLoad() }
    }
  }

  /// Runs `body` as one event, and then delivers the changes that it caused.
  func kitReceive(_ body: () -> Void) {
    kitChangedInEvent = []
    body()
    let changed = kitChangedInEvent ?? []
    kitChangedInEvent = nil
    kitIsEndingEvent = true
    let steady = changed.filter(kitStaysInRow)
    kitIsEndingEvent = false
    let hasNothingToWaitFor = batchDelay == nil || !kitPending.isDue
    if !steady.isEmpty || hasNothingToWaitFor { kitApplyPending() } else { kitScheduleBatch() }
    kitAnnounceChanged(steady)
  }

  // MARK: Records

  func kitRetain(_ document: DocumentSnapshot, _ segment: StreamSegment) {
    let key = ExactKey(document.documentID)
    segment.keys.insert(key)
    let version = document.metadata.hasPendingWrites ? nil : document.version
    guard var record = kitRecords[key] else {
      kitRecords[key] = Record(item: item(key, document), holders: [segment.id], version: version)
      kitPending.insert(key)
      return
    }
    if !record.holders.contains(segment.id) { record.holders.append(segment.id) }
    let isKnown = version != nil && version == record.version
    record.version = version
    kitRecords[key] = record
    guard !isKnown else { return }
    record.item.kitTake(document)
    handleItemChanged(record.item)
  }

  private func item(_ key: ExactKey, _ document: DocumentSnapshot) -> BaseItem {
    let item = kitType.init(key: key.text)
    item.kitTake(document)
    didConstructItem(item)
    return item
  }

  func kitRelease(_ key: ExactKey, _ segment: StreamSegment) {
    segment.keys.remove(key)
    guard var record = kitRecords[key], let holder = record.holders.firstIndex(of: segment.id) else { return }
    record.holders.remove(at: holder)
    kitRecords[key] = record
    guard record.holders.isEmpty else { return }
    kitRemovedItems.append(record.item)
    kitDrop(key)
  }
}
