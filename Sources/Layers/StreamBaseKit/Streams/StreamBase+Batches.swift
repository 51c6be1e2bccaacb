// From changes to batches, and to the delegate.

import Foundation
import LayerKit

extension StreamBase {
  // MARK: Changes

  /// Another item, or another object for one.
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

  /// Asks the predicate about all items.
  func kitReconsider() {
    for (key, record) in kitRecords where kitAccepts(record.item) != kitVisible.isListed(key) {
      kitPending.insert(key)
    }
    kitBatchIsDue()
    kitFetchUpToLimit()
  }

  func kitAccepts(_ item: BaseItem) -> Bool { predicate?(item) ?? true }

  /// Whether a changed item stays where it is and is seen there. If its row has to come, go or move, it is
  /// pending afterwards; if it is pending already, the batch tells what became of it.
  func kitSettles(_ key: ExactKey) -> Bool {
    guard let record = kitRecords[key], !kitPending.contains(key) else { return false }
    let isListed = kitVisible.isListed(key)
    let isWanted = kitAccepts(record.item)
    if isListed, isWanted, kitVisible.item(of: key, is: record.item), kitVisible.staysInPlace(key) {
      return kitVisible.row(key) != nil
    }
    guard isListed || isWanted else { return false }
    kitPending.insert(key)
    if kitChangedInEvent == nil, !kitIsEndingEvent { kitBatchIsDue() }
    return false
  }

  /// Delivers at once, or after the delay.
  func kitBatchIsDue() {
    guard kitPending.isDue else { return }
    guard let batchDelay else {
      if kitChangedInEvent == nil, !kitIsEndingEvent { kitApplyPending() }
      return
    }
    kitTimer.start(batchDelay) { [weak self] in self?.kitApplyPending() }
  }

  // MARK: Batches

  /// Brings the visible items up to date and tells the delegate. What that does to the stream without a delay
  /// comes as another batch behind it.
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

  /// Items that stay where they are have other content. If something is being told, that comes first.
  func kitAnnounceChanged(_ keys: [ExactKey]) {
    guard kitIsAnnouncing else { return announce { tellChanged(keys) } }
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
    // The predicate is code of the user, and may ask the stream.
    let wanted = kitPending.take().map { key in
      (key: key, item: kitRecords[key].flatMap { kitAccepts($0.item) ? $0.item : nil })
    }
    let gone = kitDeparted
    kitDeparted = []
    let step = kitVisible.update(wanted, limit: afterPredicateLimit)
    (delegate as? any StreamObserver)?.streamTouched(step.touched + step.stayed)
    delegate?.hear(deleted: IndexPath.paths(step.deleted), added: IndexPath.paths(step.added))
    tellChanged(step.stayed)
    for item in gone { item.update(nil) }
  }

  private func tellChanged(_ keys: [ExactKey]) {
    let rows = keys.compactMap(kitVisible.row)
    guard !rows.isEmpty else { return }
    delegate?.streamItemsChanged(IndexPath.paths(rows))
  }

  func kitFinishLoad(_ error: NSError?) {
    kitInflight = nil
    kitLoad.finish(error)
    kitLoad.news(for: delegate)?.tell()
  }
}

/// A delegate of our own that needs to know keys rather than rows.
protocol StreamObserver: StreamBaseDelegate {
  func streamTouched(_ keys: [ExactKey])
}
