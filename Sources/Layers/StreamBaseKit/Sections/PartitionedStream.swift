// A stream whose items are grouped into sections.

public import FirebaseFirestore
public import Foundation

/// The items of a stream, grouped into sections by a function. Each section has the order of the stream.
///
/// ```swift
/// let users = StreamBase(type: BaseItem.self, ref: Firestore.firestore().collection("users"))
/// let sections = PartitionedStream(stream: users, sectionTitles: ["A to M", "N to Z"]) { user in
///   (user.key ?? "") < "n" ? 0 : 1
/// }
/// ```
///
/// A partitioned stream retains its stream and replaces the stream's delegate. The work for a batch is
/// proportional to its changes.
open class PartitionedStream: StreamBaseProtocol, StreamBaseDelegate {
  /// A function that returns the section number of an item. A section with this number must exist.
  public typealias Partitioner = (BaseItem) -> Int

  public weak var delegate: (any StreamBaseDelegate)? {
    didSet { load.pendingNotice(for: delegate)?.notify() }
  }
  /// The number of sections.
  public let numSections: Int
  /// A title for each section.
  public let sectionTitles: [String]

  private let stream: any PartitionableStream
  private let partitioner: Partitioner
  private var rows: SectionedRows<BaseItem>
  private var load = InitialLoad()
  private var knownMap: [IndexPath]?
  /// The paths that the current batch has deleted so far.
  private var deleted: [IndexPath] = []
  private var added: [IndexPath] = []
  private var isInBatch = false

  /// Creates sections of the items of a stream.
  public init(stream: StreamBase, sectionTitles: [String], partitioner: @escaping Partitioner) {
    self.stream = stream
    self.partitioner = partitioner
    self.sectionTitles = sectionTitles
    numSections = sectionTitles.count
    rows = SectionedRows(sections: sectionTitles.count)
    begin()
  }

  /// Creates sections of the items of a union.
  public init(stream: UnionStream, sectionTitles: [String], partitioner: @escaping Partitioner) {
    self.stream = stream
    self.partitioner = partitioner
    self.sectionTitles = sectionTitles
    numSections = sectionTitles.count
    rows = SectionedRows(sections: sectionTitles.count)
    begin()
  }

  private func begin() {
    for row in 0..<stream.kitRowCount { insert(row) }
    // If the stream has already finished its initial load, setting the delegate reports that now.
    stream.delegate = self
  }

  // MARK: Lookup

  /// The path (section and row) of each row of the stream. The map is computed at the first access after a
  /// change.
  public var map: [IndexPath] {
    if let knownMap { return knownMap }
    let map = rows.positions.map { IndexPath(row: $0.row, section: $0.section) }
    knownMap = map
    return map
  }

  /// The item at a section and a row.
  public subscript(index: IndexPath) -> BaseItem { self[index[0], index[1]] }

  /// The item at a section and a row.
  public subscript(section: Int, row: Int) -> BaseItem {
    rows.item(at: SectionedRows.Position(section: section, row: row))
  }

  /// The items of a section.
  public subscript(section: Int) -> [BaseItem] { rows.items(inSection: section) }

  /// Returns the number of items in a section.
  public func count(inSection section: Int) -> Int { rows.count(inSection: section) }

  /// All items, in the order of the stream.
  public var items: IndexingIterator<StreamBase> { stream.kitIterable.makeIterator() }

  public func find(_ key: String) -> BaseItem? { stream.find(key) }

  public func findIndexPath(_ key: String) -> IndexPath? {
    stream.findIndexPath(key).map { path(ofRow: $0[1]) }
  }

  private func path(ofRow row: Int) -> IndexPath {
    let position = rows.position(ofRow: row)
    return IndexPath(row: position.row, section: position.section)
  }

  // MARK: Events of the stream

  public func streamWillChange() {
    isInBatch = true
    (deleted, added) = ([], [])
  }

  /// Collects the deletions and reports them at the end of the batch, so that the delegate sees the complete
  /// result of the batch.
  public func streamItemsDeleted(_ paths: [IndexPath]) {
    deleted += paths.map { path(ofRow: $0[1]) }
    for row in paths.map({ $0[1] }).sorted(by: >) { rows.remove(row: row) }
    knownMap = nil
    if !isInBatch { notifyBatch() }
  }

  public func streamItemsAdded(_ paths: [IndexPath]) {
    let new = paths.map { $0[1] }.sorted()
    for row in new { insert(row) }
    added += new.map(path)
    knownMap = nil
    if !isInBatch { notifyBatch() }
  }

  public func streamDidChange() {
    isInBatch = false
    notifyBatch()
  }

  private func notifyBatch() {
    let (deleted, added) = (deleted, added)
    (self.deleted, self.added) = ([], [])
    delegate?.notify(deleted: deleted, added: added)
  }

  /// Reports the changed items that stay in their sections. Then reports the items that change their section,
  /// as one batch.
  public func streamItemsChanged(_ paths: [IndexPath]) {
    var staying: [Int] = []
    var moving: [(row: Int, section: Int)] = []
    for row in paths.map({ $0[1] }) {
      let item = stream.kitItem(atRow: row)
      rows.replace(row: row, with: item)
      let section = section(of: item)
      if section == rows.section(ofRow: row) { staying.append(row) } else { moving.append((row, section)) }
    }
    if !staying.isEmpty { delegate?.streamItemsChanged(staying.map(path)) }
    guard !moving.isEmpty else { return }
    let deleted = moving.map { path(ofRow: $0.row) }
    for (row, section) in moving { rows.move(row: row, toSection: section) }
    knownMap = nil
    delegate?.notify(deleted: deleted, added: moving.map { path(ofRow: $0.row) })
  }

  public func streamDidFinishInitialLoad(_ error: NSError?) {
    load.finish(error)
    load.pendingNotice(for: delegate)?.notify()
  }

  public func streamDidFail(_ error: NSError) { delegate?.streamDidFail(error) }

  // MARK: Rows

  var kitRowsTouched: Int { rows.touched }

  /// Traps if an item is in the wrong section or row. Takes more than linear time.
  package func kitCheckInvariants() {
    rows.checkInvariants()
    precondition(rows.count == stream.kitRowCount, "not the rows of the stream")
  }

  private func insert(_ row: Int) {
    let item = stream.kitItem(atRow: row)
    rows.insert(item, atRow: row, inSection: section(of: item))
  }

  private func section(of item: BaseItem) -> Int {
    let section = partitioner(item)
    precondition(
      (0..<numSections).contains(section),
      "The partitioner puts \(item.key ?? "an item") into section \(section), and there are \(numSections).")
    return section
  }
}

/// A stream that can be partitioned.
protocol PartitionableStream: StreamBaseProtocol {
  var kitRowCount: Int { get }
  func kitItem(atRow row: Int) -> BaseItem
  /// A stream of the same items, for iteration.
  var kitIterable: StreamBase { get }
}

extension StreamBase: PartitionableStream {
  var kitRowCount: Int { count }
  func kitItem(atRow row: Int) -> BaseItem { kitVisible[row] }
  var kitIterable: StreamBase { self }
}

extension UnionStream: PartitionableStream {
  var kitRowCount: Int { count }
  func kitItem(atRow row: Int) -> BaseItem { self[row] }
  var kitIterable: StreamBase { StreamBase.kitListing(Array(self), kitOrder) }
}
