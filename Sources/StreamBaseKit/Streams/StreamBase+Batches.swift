// From changes to batches, and to the delegate.

import Foundation

extension StreamBase {
  // MARK: Changes

  /// Another item, or another object for one.
  func put(_ item: BaseItem) {
    guard let key = item.key.map(ExactKey.init) else { return }
    guard records[key]?.item !== item else { return }
    records[key, default: Record(item: item)].item = item
    pending.insert(key)
  }

  func drop(_ key: ExactKey) {
    guard records.removeValue(forKey: key) != nil else { return }
    pending.insert(key)
  }

  /// Asks the predicate about all items.
  func reconsider() {
    for (key, record) in records where accepts(record.item) != visible.isListed(key) { pending.insert(key) }
    batchIsDue()
    fetchUpToLimit()
  }

  func accepts(_ item: BaseItem) -> Bool { predicate?(item) ?? true }

  /// Whether a changed item stays where it is and is seen there. If its row has to come, go or move, it is pending
  /// afterwards; if it is pending already, the batch tells what became of it.
  func settles(_ key: ExactKey) -> Bool {
    guard let record = records[key], !pending.contains(key) else { return false }
    let isListed = visible.isListed(key)
    let isWanted = accepts(record.item)
    if isListed, isWanted, visible.item(of: key, is: record.item), visible.staysInPlace(key) {
      return visible.row(key) != nil
    }
    guard isListed || isWanted else { return false }
    pending.insert(key)
    if changedInEvent == nil, !isEndingEvent { batchIsDue() }
    return false
  }

  /// Delivers at once, or after the delay.
  func batchIsDue() {
    guard pending.isDue else { return }
    guard let batchDelay else {
      if changedInEvent == nil, !isEndingEvent { applyPending() }
      return
    }
    timer.start(batchDelay) { [weak self] in self?.applyPending() }
  }

  // MARK: Batches

  /// Brings the visible items up to date and tells the delegate. What that does to the stream without a delay comes
  /// as another batch behind it.
  func applyPending() {
    guard !isAnnouncing else {
      hasAnotherRound = true
      return
    }
    announce { applyOnce() }
    guard loadIsDue else {
      fetchUpToLimit()
      return
    }
    loadIsDue = false
    finishLoad(nil)
  }

  /// Items that stay where they are have other content. If something is being told, that comes first.
  func announceChanged(_ keys: [ExactKey]) {
    guard isAnnouncing else { return announce { tellChanged(keys) } }
    for key in keys { pending.insert(key) }
    hasAnotherRound = true
  }

  private func announce(_ body: () -> Void) {
    isAnnouncing = true
    body()
    while hasAnotherRound {
      hasAnotherRound = false
      applyOnce()
    }
    isAnnouncing = false
  }

  private func applyOnce() {
    guard pending.isDue else { return }
    timer.cancel()
    // The predicate is code of the user, and may ask the stream.
    let wanted = pending.take().map { key in
      (key: key, item: records[key].flatMap { accepts($0.item) ? $0.item : nil })
    }
    let gone = departed
    departed = []
    let step = visible.update(wanted, limit: afterPredicateLimit)
    (delegate as? any StreamObserver)?.streamTouched(step.touched + step.stayed)
    delegate?.hear(deleted: IndexPath.paths(step.deleted), added: IndexPath.paths(step.added))
    tellChanged(step.stayed)
    for item in gone { item.update(nil) }
  }

  private func tellChanged(_ keys: [ExactKey]) {
    let rows = keys.compactMap(visible.row)
    guard !rows.isEmpty else { return }
    delegate?.streamItemsChanged(IndexPath.paths(rows))
  }

  func finishLoad(_ error: NSError?) {
    inflight = nil
    load.finish(error)
    load.news(for: delegate)?.tell()
  }
}

/// A delegate of our own that needs to know keys rather than rows.
protocol StreamObserver: StreamBaseDelegate {
  func streamTouched(_ keys: [ExactKey])
}
