// Collects changes into batches, and reports them to the delegate.

import Foundation
import LayerKit

extension StreamBase {
  // MARK: Changes

  /// Adds an item, or replaces the item with the same key.
  func kitPut(_ item: BaseItem) {
    guard let key = item.key.map(ExactKey.init) else { return }
    guard kitRecords[key]?.item !== item else { return }
    kitRecords[key, default: Record(item: item)].item = item
    kitPending.insert(key)
  }

  func kitDrop(_ key: ExactKey) {
    guard kitRecords.removeValue(forKey: key) != nil else { return }
    kitPending.insert(key)
  }

  /// Applies the predicate to all items again, and delivers the changes.
  func kitReapplyPredicate() {
    for (key, record) in kitRecords where kitAccepts(record.item) != kitVisible.isListed(key) {
      kitPending.insert(key)
    }
    kitScheduleBatch()
    kitFetchUpToLimit()
  }

  func kitAccepts(_ item: BaseItem) -> Bool { predicate?(item) ?? true }

  /// Returns whether a changed item stays in its visible row. If its row must appear, disappear or move, the
  /// key becomes pending. If the key was already pending, the next batch reports the change.
  func kitStaysInRow(_ key: ExactKey) -> Bool {
    guard let record = kitRecords[key], !kitPending.contains(key) else { return false }
    let isListed = kitVisible.isListed(key)
    let isWanted = kitAccepts(record.item)
    if isListed, isWanted, kitVisible.item(of: key, is: record.item), kitVisible.staysInPlace(key) {
      return kitVisible.row(key) != nil
    }
    guard isListed || isWanted else { return false }
    kitPending.insert(key)
    if kitChangedInEvent == nil, !kitIsEndingEvent { kitScheduleBatch() }
    return false
  }

  /// Delivers the pending changes at once or after the batch delay.
  func kitScheduleBatch() {
    guard kitPending.isDue else { return }
    guard let batchDelay else {
      if kitChangedInEvent == nil, !kitIsEndingEvent { kitApplyPending() }
      return
    }
    kitTimer.start(batchDelay) { [weak self] in self?.kitApplyPending() }
  }

  // MARK: Batches

  /// Updates the visible items and calls the delegate. If the delegate makes changes during these calls and
  /// there is no batch delay, those changes follow in another batch.
  func kitApplyPending() {
    guard !kitIsAnnouncing else {
      kitHasAnotherRound = true
      return
    }
    announce { applyOnce() }
    guard kitLoadIsDue else {
      kitFetchUpToLimit()
      return
    }
    kitLoadIsDue = false
    kitFinishLoad(nil)
  }

  /// Reports changed items that stay in their rows. If another report is in progress, these items are
  /// reported in the next round.
  func kitAnnounceChanged(_ keys: [ExactKey]) {
    guard kitIsAnnouncing else { return announce { notifyChanged(keys) } }
    for key in keys { kitPending.insert(key) }
    kitHasAnotherRound = true
  }

  private func announce(_ body: () -> Void) {
    kitIsAnnouncing = true
    body()
    while kitHasAnotherRound {
      kitHasAnotherRound = false
      applyOnce()
    }
    kitIsAnnouncing = false
  }

  private func applyOnce() {
    guard kitPending.isDue else { return }
    kitTimer.cancel()
    // The predicate is code of the app and may access the stream. It must therefore be called before the
    // visible items are updated.
    let wanted = kitPending.take().map { key in
      (key: key, item: kitRecords[key].flatMap { kitAccepts($0.item) ? $0.item : nil })
    }
    let removedItems = kitRemovedItems
    kitRemovedItems = []
    let step = kitVisible.update(wanted, limit: afterPredicateLimit)
    (delegate as? any StreamObserver)?.streamTouched(step.touched + step.stayed)
    delegate?.notify(deleted: IndexPath.paths(step.deleted), added: IndexPath.paths(step.added))
    notifyChanged(step.stayed)
    for item in removedItems { item.update(nil) }
  }

  private func notifyChanged(_ keys: [ExactKey]) {
    let rows = keys.compactMap(kitVisible.row)
    guard !rows.isEmpty else { return }
    delegate?.streamItemsChanged(IndexPath.paths(rows))
  }

  func kitFinishLoad(_ error: NSError?) {
    kitInflight = nil
    kitLoad.finish(error)
    kitLoad.pendingNotice(for: delegate)?.notify()
  }
}

/// A delegate inside this module that receives keys in addition to rows.
protocol StreamObserver: StreamBaseDelegate {
  func streamTouched(_ keys: [ExactKey])
}
