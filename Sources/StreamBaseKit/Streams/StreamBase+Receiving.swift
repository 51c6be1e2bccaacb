// From snapshots of queries to records.

import FirebaseCore
import FirebaseFirestore
import Foundation

/// A range of the order that the stream listens to.
final class StreamSegment {
  let id: Int
  var registration: (any ListenerRegistration)?
  /// What it has.
  var keys = Set<ExactKey>()
  var hasReported = false
  /// Of the last snapshot.
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

  func connect(_ source: QuerySource) {
    // To begin behind the end of the database is a mistake, which traps.
    _ = source.ref.firestore.client()
    inflight = Inflight()
    listen(newSegment(), to: source.first)
  }

  func newSegment() -> StreamSegment {
    let segment = StreamSegment(id: segmentCount)
    segmentCount += 1
    segments.append(segment)
    return segment
  }

  /// `reported` is called whenever it has told what there is: one that fails takes nobody's place. The database may have
  /// been terminated since the stream began, and that fails, too.
  func listen(_ segment: StreamSegment, to query: Query, _ reported: (() -> Void)? = nil) {
    segment.registration = query.listenOrFail { [weak self, unowned segment] snapshot, error in
      guard let self else { return }
      guard let snapshot else {
        if let error { hear(segment, error as NSError) }
        return
      }
      hear(segment, snapshot)
      reported?()
    }
  }

  private func hear(_ segment: StreamSegment, _ error: NSError) {
    segment.stop()
    guard load.isFinished else {
      loadIsDue = false
      finishLoad(error)
      return
    }
    delegate?.streamDidFail(error)
  }

  private func hear(_ segment: StreamSegment, _ snapshot: QuerySnapshot) {
    let isFirst = !segment.hasReported
    segment.hasReported = true
    segment.count = snapshot.count
    segment.last = snapshot.lastDocument { _ in true }
    receive {
      if isFirst, !segment.keys.isEmpty {
        let found = Set(snapshot.documents.map { ExactKey($0.documentID) })
        for key in segment.keys.subtracting(found) { release(key, segment) }
      }
      for change in snapshot.documentChanges {
        switch change.type {
        case .added, .modified: hold(change.document, segment)
        case .removed: release(ExactKey(change.document.documentID), segment)
        }
      }
      if isFirst, !load.isFinished, segment.id == 0 { endInitialLoad() }
    }
  }

  /// Runs `body`, which is one event, and delivers what it changed.
  func receive(_ body: () -> Void) {
    changedInEvent = []
    body()
    let changed = changedInEvent ?? []
    changedInEvent = nil
    isEndingEvent = true
    let steady = changed.filter(settles)
    isEndingEvent = false
    let hasNothingToWaitFor = batchDelay == nil || !pending.isDue
    if !steady.isEmpty || hasNothingToWaitFor { applyPending() } else { batchIsDue() }
    announceChanged(steady)
  }

  // MARK: Records

  func hold(_ document: DocumentSnapshot, _ segment: StreamSegment) {
    let key = ExactKey(document.documentID)
    segment.keys.insert(key)
    let version = document.metadata.hasPendingWrites ? nil : document.version
    guard var record = records[key] else {
      records[key] = Record(item: item(key, document), holders: [segment.id], version: version)
      pending.insert(key)
      return
    }
    if !record.holders.contains(segment.id) { record.holders.append(segment.id) }
    let isKnown = version != nil && version == record.version
    record.version = version
    records[key] = record
    guard !isKnown else { return }
    record.item.take(document)
    handleItemChanged(record.item)
  }

  private func item(_ key: ExactKey, _ document: DocumentSnapshot) -> BaseItem {
    let item = type.init(key: key.text)
    item.take(document)
    didConstructItem(item)
    return item
  }

  func release(_ key: ExactKey, _ segment: StreamSegment) {
    segment.keys.remove(key)
    guard var record = records[key], let holder = record.holders.firstIndex(of: segment.id) else { return }
    record.holders.remove(at: holder)
    records[key] = record
    guard record.holders.isEmpty else { return }
    departed.append(record.item)
    drop(key)
  }
}
