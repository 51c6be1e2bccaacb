// A union of several streams.
//
//   the item of a key  =  the item of the first source that shows the key
//
// Invariants:
//   - A key that may violate this equation is pending, and a batch is scheduled.
//   - The changes that were reported to the delegate, applied in order, give the items.

public import Foundation
import LayerKit

/// The visible items of several streams, in the order of the first stream.
///
/// A union retains its streams and replaces their delegates. If several streams have an item with the same
/// key, the union uses the item of the first of these streams. The work for a batch is proportional to its
/// changes and does not depend on the length of the streams. Delayed batches are delivered on the callback
/// queue of the first stream that has a database. If no stream has a database, they are delivered on the main
/// queue.
open class UnionStream: StreamBaseProtocol {
  public weak var delegate: (any StreamBaseDelegate)? {
    didSet { load.pendingNotice(for: delegate)?.notify() }
  }

  /// The time from the last change to the delivery of a batch. Each further change restarts this time, but
  /// the total delay is at most ten times this value. Nil delivers changes at once.
  public var batchDelay: TimeInterval? = 0.1
  package var kitTimer: any BatchTimer

  private let sources: [StreamBase]
  private var observers: [SourceObserver] = []
  private var visible: VisibleItems
  private var pending = PendingKeys()
  private var load = InitialLoad()
  private var loading: Int
  private var loadError: NSError?
  private var isAnnouncing = false
  private var hasAnotherRound = false

  /// Creates a union of these streams. Traps if there are none.
  public init(sources: StreamBase...) {
    precondition(!sources.isEmpty, "A union has at least one stream.")
    self.sources = sources
    loading = sources.count
    visible = VisibleItems(sources[0].kitVisible.order)
    kitTimer = QueueTimer(sources.lazy.compactMap(\.kitQueue).first ?? .main)
    begin()
  }

  deinit { kitTimer.cancel() }

  /// Adds the present items of the sources without reporting them to the delegate.
  private func begin() {
    var keys = Set<ExactKey>()
    for case let key? in sources.joined().map(\.key) { keys.insert(ExactKey(key)) }
    _ = visible.update(keys.map { ($0, winner($0)) }, limit: nil)
    observers = sources.map { SourceObserver(self, $0) }
    // If a source has already finished its initial load, setting its delegate reports that now.
    for (source, observer) in zip(sources, observers) { source.delegate = observer }
  }

  // MARK: Lookup

  var kitOrder: StreamOrder { visible.order }

  public func find(_ key: String) -> BaseItem? { visible.item(ExactKey(key)) }

  public func findIndexPath(_ key: String) -> IndexPath? {
    visible.row(ExactKey(key)).map { IndexPath(row: $0, section: 0) }
  }

  private func winner(_ key: ExactKey) -> BaseItem? {
    for source in sources {
      if let item = source.find(key.text) { return item }
    }
    return nil
  }

  package func kitCheckInvariants() { visible.checkInvariants() }

  // MARK: Events of the sources

  fileprivate func touch(_ keys: [ExactKey]) {
    for key in keys { pending.insert(key) }
    scheduleBatch()
  }

  fileprivate func sourceItemsChanged(_ items: [BaseItem]) {
    let keys = items.compactMap { $0.key.map(ExactKey.init) }
    var steady: [ExactKey] = []
    for key in keys where visible.isListed(key) && !pending.contains(key) {
      if visible.staysInPlace(key) { steady.append(key) } else { pending.insert(key) }
    }
    announceChanged(steady)
    scheduleBatch()
  }

  fileprivate func finishLoad(of source: SourceObserver, _ error: NSError?) {
    guard !source.isLoaded else { return }
    source.isLoaded = true
    loading -= 1
    loadError = loadError ?? error
    guard loading == 0 else { return }
    applyPending()
    load.finish(loadError)
    load.pendingNotice(for: delegate)?.notify()
  }

  // MARK: Batches

  private func scheduleBatch() {
    guard pending.isDue else { return }
    guard let batchDelay else { return applyPending() }
    kitTimer.start(batchDelay) { [weak self] in self?.applyPending() }
  }

  private func applyPending() {
    guard !isAnnouncing else {
      hasAnotherRound = true
      return
    }
    announce { applyOnce() }
  }

  /// Reports changed items. If another report is in progress, these items are reported in the next round.
  private func announceChanged(_ keys: [ExactKey]) {
    guard !keys.isEmpty else { return }
    guard isAnnouncing else { return announce { notifyChanged(keys) } }
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
    kitTimer.cancel()
    let step = visible.update(pending.take().map { ($0, winner($0)) }, limit: nil)
    delegate?.notify(deleted: IndexPath.paths(step.deleted), added: IndexPath.paths(step.added))
    notifyChanged(step.stayed)
  }

  private func notifyChanged(_ keys: [ExactKey]) {
    let rows = keys.compactMap(visible.row)
    guard !rows.isEmpty else { return }
    delegate?.streamItemsChanged(IndexPath.paths(rows))
  }
}

extension UnionStream: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { visible.count }
  public subscript(i: Int) -> BaseItem { visible[i] }

  public func makeIterator() -> IndexingIterator<UnionStream> {
    visible.prepareToIterate()
    return IndexingIterator(_elements: self)
  }
}

/// The delegate of one source.
private final class SourceObserver: StreamObserver {
  private weak var union: UnionStream?
  private unowned let source: StreamBase
  var isLoaded = false

  init(_ union: UnionStream, _ source: StreamBase) {
    self.union = union
    self.source = source
  }

  func streamTouched(_ keys: [ExactKey]) { union?.touch(keys) }

  func streamItemsChanged(_ paths: [IndexPath]) { union?.sourceItemsChanged(paths.map { source[$0[1]] }) }

  func streamDidFinishInitialLoad(_ error: NSError?) { union?.finishLoad(of: self, error) }

  func streamDidFail(_ error: NSError) { union?.delegate?.streamDidFail(error) }
}
