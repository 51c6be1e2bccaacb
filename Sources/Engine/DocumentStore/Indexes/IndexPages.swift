// The indexes in a checkpoint: a catalog, and one region of pages per tree.
//
//   - region 256: the catalog (IndexCatalog.swift), on as many pages as it needs
//   - region 257: the names of all documents
//   - region 257 + id: the keys of the index with that id
//
// The first four bytes of the catalog's first page are its length.
//
// If the disk is full, or while the name index is missing, only the catalog is written. It then contains the
// shapes and the declared indexes. When a catalog lists an index that has no region, the index is rebuilt.

import ByteStore

extension CheckpointRegion {
  static let indexCatalog = CheckpointRegion(rawValue: firstOfUpperLayer.rawValue)
  static let names = CheckpointRegion(rawValue: firstOfUpperLayer.rawValue + 1)

  static func index(_ id: UInt32) -> CheckpointRegion { CheckpointRegion(rawValue: names.rawValue + id) }
}

/// An immutable copy of the indexes, to be written to a checkpoint.
final class IndexPages: CheckpointPages {
  private let names: IndexSet.NameTree?
  private let indexes: [ManagedIndex]
  private let lost: [ManagedIndex]
  private let nextID: UInt32
  private let shapes: (nextID: Int, shapes: [Shape])?
  private let set: IndexSet
  private let layout = Locked<Layout?>(nil)

  private struct Layout {
    var catalog: [UInt8]
    var trees: [CheckpointRegion: OrderedIndexPages]
  }

  private static let payloadBytes = OrderedIndexFormat.payloadBytesMax

  init(
    names: IndexSet.NameTree?, indexes: [ManagedIndex], lost: [ManagedIndex], nextID: UInt32,
    shapes: (nextID: Int, shapes: [Shape])?, of set: IndexSet
  ) {
    self.set = set
    self.names = names
    self.indexes = indexes
    self.lost = lost
    self.nextID = nextID
    self.shapes = shapes
  }

  var least: any CheckpointPages {
    IndexPages(
      names: nil, indexes: [], lost: declaredWithoutKeys(indexes) + lost, nextID: nextID, shapes: shapes,
      of: set)
  }

  private func declaredWithoutKeys(_ indexes: [ManagedIndex]) -> [ManagedIndex] {
    indexes.filter { !$0.isAutomatic }.map(\.withoutKeys)
  }

  /// An index with a damaged page is left out; a query rebuilds it.
  func regions() throws(ByteStoreError) -> [(region: CheckpointRegion, pages: Int)] {
    // The shapes are not known yet.
    guard let shapes else { return [] }
    var trees: [CheckpointRegion: OrderedIndexPages] = [:]
    var kept = lost
    let namePages = names.flatMap { try? OrderedIndexPages($0.tree) }
    // Indexes are useless without the name index.
    if let namePages {
      trees[.names] = namePages
      let gone = set.evictToBudget()
      for index in indexes where !gone.contains(index.id) {
        if let pages = try? OrderedIndexPages(index.tree) {
          trees[.index(index.id)] = pages
          kept.append(index)
        } else {
          kept += declaredWithoutKeys([index])
        }
      }
    } else {
      kept += declaredWithoutKeys(indexes)
    }
    var catalog = IndexCatalog(
      nextID: nextID, nested: namePages == nil ? [:] : names?.nested ?? [:],
      longNames: names?.truncatedCount ?? 0,
      indexes: kept.sorted { $0.id < $1.id }, nextShape: shapes.nextID, shapes: shapes.shapes
    ).encoded()
    let count = UInt32(catalog.count)
    catalog = (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + catalog
    let layout = Layout(catalog: catalog, trees: trees)
    self.layout.withLock { $0 = layout }
    let catalogPages = (catalog.count + Self.payloadBytes - 1) / Self.payloadBytes
    var regions = [(region: CheckpointRegion.indexCatalog, pages: catalogPages)]
    for region in trees.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      regions.append((region, trees[region]?.count ?? 0))
    }
    return regions
  }

  func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8] {
    guard let layout = layout.withLock({ $0 }) else { preconditionFailure("regions come before pages") }
    guard region != .indexCatalog else {
      return Array(layout.catalog.dropFirst(page * Self.payloadBytes).prefix(Self.payloadBytes))
    }
    guard let pages = layout.trees[region] else { preconditionFailure("a region that there is") }
    do throws(DocumentStoreError) {
      return try pages.payload(ofPage: page)
    } catch {
      throw error.asByteStoreError
    }
  }
}

extension DocumentStoreError {
  /// Converts an error that reading an index page can throw.
  fileprivate var asByteStoreError: ByteStoreError {
    switch self {
    case .corrupted(let evidence):
      .corrupted(
        Damage(
          file: evidence.file ?? "", offset: evidence.offset ?? 0, expected: evidence.expected ?? "",
          found: evidence.found ?? evidence.message))
    case .closed(let evidence): .closed(directory: evidence.file ?? "")
    case .failed(let evidence), .full(let evidence), .outcomeUnknown(let evidence):
      .system(
        SystemFailure(
          operation: evidence.operation ?? "reading", path: evidence.file ?? "", code: evidence.code ?? 0))
    default: .corrupted(Damage(file: "", offset: 0, expected: "a page of an index", found: description))
    }
  }
}

// MARK: -

/// The pages of one tree in a checkpoint.
struct CheckpointTree: OrderedIndexPageSource {
  let file: CheckpointFile
  let region: CheckpointRegion
  let path: String

  func payload(ofPage page: Int) throws(DocumentStoreError) -> [UInt8] {
    try translatingErrors { () throws(ByteStoreError) in try file.payload(region, page) }
  }

  func startReading(_ page: Int) { file.startReading(region, page) }

  func damage(onPage page: Int, expected: String) -> DocumentStoreError {
    DocumentStoreError(
      .corrupted(
        Damage(
          file: path, offset: 0, expected: "\(expected) on page \(page) of region \(region.rawValue)",
          found: "something else")))
  }
}

extension IndexSet {
  /// Loads the indexes of a checkpoint. Damaged indexes are left out and rebuilt later.
  func load(from file: CheckpointFile?, path: String) {
    guard let file else {
      // The store has no checkpoint, so the WAL has all commits.
      state.withLock { $0.names = NameTree() }
      shapes.begin(from: 0)
      return
    }
    guard let catalog = Self.catalog(of: file) else { return }
    for shape in catalog.shapes { shapes.add(shape) }
    shapes.begin(from: catalog.nextShape)
    state.withLock { state in
      state.nextID = catalog.nextID
      if let nested = catalog.nested, let tree = Self.tree(.names, file, path: path) {
        let names = NameTree(tree: tree, nested: nested, truncatedCount: catalog.longNames)
        if names.hasPlausibleCounts { state.names = names }
      }
      for var index in catalog.indexes {
        state.uses = max(state.uses, index.lastUse)
        if let tree = Self.tree(.index(index.id), file, path: path) {
          index.tree = tree
          if index.hasPlausibleCounts {
            state.indexes.append(index)
            continue
          }
        }
        if !index.isAutomatic { state.lost.append(index.withoutKeys) }
      }
    }
  }

  private static func tree(
    _ region: CheckpointRegion, _ file: CheckpointFile, path: String
  ) -> OrderedIndex? {
    let source = CheckpointTree(file: file, region: region, path: path)
    return try? OrderedIndex(pages: source, pagesMax: file.pages(of: region))
  }

  private static func catalog(of file: CheckpointFile) -> IndexCatalog? {
    let pages = (0..<file.pages(of: .indexCatalog)).map { try? file.payload(.indexCatalog, $0) }
    return catalog(of: pages)
  }

  /// Returns the shape definitions, which a salvage needs. If a shape were missing, all records that use the
  /// shape would be lost.
  static func definitions(
    in pages: (CheckpointRegion) -> [[UInt8]?]
  ) -> [(key: [UInt8], value: [UInt8])] {
    let shapes = catalog(of: pages(.indexCatalog))?.shapes ?? []
    return shapes.map { (Shape.key($0.id), $0.definition) }
  }

  /// Returns the declared indexes, for the report of a salvage. Returns nil if the catalog cannot be read.
  static func declaredIndexes(in pages: (CheckpointRegion) -> [[UInt8]?]) -> [IndexDefinition]? {
    catalog(of: pages(.indexCatalog))?.indexes.filter { !$0.isAutomatic }.map(\.definition)
  }

  private static func catalog(of pages: [[UInt8]?]) -> IndexCatalog? {
    var bytes: [UInt8] = []
    for page in pages {
      guard let page else { return nil }
      bytes += page
    }
    var reader = ByteReader(bytes.rawSpan)
    guard let count = reader.uint32(), let content = reader.array(Int(count)) else { return nil }
    return IndexCatalog(decoding: content)
  }
}
