// Reads documents of all collections in the order of their paths.
//
// The index of names is in the order of collection groups, and of paths within a group:
//
//   1. Find the groups. This takes a seek for each of them.
//   2. Open the entries of each group within the ranges of the scan. Nothing before a range is read.
//   3. Merge the entries by their paths, and read the record of each.

import ByteStore

/// The first documents of a scan.
package struct PathPage: Sendable {
  package var records: [DocumentRecord]
  /// The part of the scan that was not read; nil at its end.
  package var rest: PathScan?

  /// The part of a scan that the page has read.
  package func part(of scan: PathScan) -> PathScan {
    guard let rest else { return scan }
    return scan.limited(to: rest.ranges.complement)
  }

  /// Adds documents, which must be in the part of the scan that the page has read.
  package mutating func add(_ documents: [StoredDocument]) {
    guard !documents.isEmpty else { return }
    let all = (records + documents.map { DocumentRecord($0) }).map {
      (key: PathRanges.key($0.path), record: $0)
    }
    records = all.sorted { $0.key.precedes($1.key) }.map(\.record)
  }
}

struct PathReader {
  /// The maximum number of entries in one page, which can be of documents that are not part of the result.
  private static let entriesMax = 4096

  private let snapshot: Snapshot
  private let index: OrderedIndex
  private let shapes: ShapeTable
  private let storePath: String

  init(_ snapshot: Snapshot, _ index: OrderedIndex, shapes: ShapeTable, storePath: String) {
    self.snapshot = snapshot
    self.index = index
    self.shapes = shapes
    self.storePath = storePath
  }

  /// Reads up to `documentsMax` documents, and ends behind the document that reaches `bytesMax`.
  func page(
    of scan: PathScan, documentsMax: Int, bytesMax: Int
  ) throws(DocumentStoreError) -> PathPage {
    var page = PathPage(records: [], rest: nil)
    guard !scan.ranges.isEmpty else { return page }
    guard documentsMax > 0 else { return PathPage(records: [], rest: scan) }
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    let entries = try entries(of: scan)
    var (entryCount, bytes) = (0, 0)
    while try entries.next() {
      entryCount += 1
      let exists = try translatingErrors { () throws(ByteStoreError) in
        try snapshot.read(entries.ordinal, into: &pooled.buffer)
      }
      guard exists,
        let path = pooled.buffer.withEntry({ key, _ in DocumentKey.decode([UInt8](copying: key)) })
      else { continue }
      if scan.contains(path), !path.isReserved {
        let record = try pooled.buffer.withEntry { _, record throws(DocumentStoreError) in
          try self.record([UInt8](copying: record), at: path)
        }
        page.records.append(record)
        bytes += record.byteCount
      }
      guard page.records.count < documentsMax, bytes < bytesMax, entryCount < Self.entriesMax else {
        let rest = scan.after(path)
        if !rest.ranges.isEmpty { page.rest = rest }
        return page
      }
    }
    return page
  }

  private func record(_ bytes: [UInt8], at path: DocumentPath) throws(DocumentStoreError) -> DocumentRecord {
    do throws(RecordError) {
      return try DocumentRecord(path: path, record: bytes, shapes: shapes)
    } catch {
      throw DocumentStoreError(error, at: path, in: storePath)
    }
  }

  // MARK: Entries

  private func entries(of scan: PathScan) throws(DocumentStoreError) -> MergedStream {
    let context = StreamContext(isBackward: false)
    var streams: [any EntryStream] = []
    for group in try CollectionNames(snapshot, index).groups() {
      guard (try? CollectionPath([group])) != nil, let access = scan.access(group: group) else { continue }
      streams.append(
        IndexStream(index, access, isCollectionOfNames: !scan.isRecursive, context: context) {
          ordinal throws(DocumentStoreError) in try path(ordinal).map { [NameKey.encode($0)] }
        })
    }
    return MergedStream(streams, context)
  }

  private func path(_ ordinal: UInt32) throws(DocumentStoreError) -> DocumentPath? {
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    let exists = try translatingErrors { () throws(ByteStoreError) in
      try snapshot.read(ordinal, into: &pooled.buffer)
    }
    return exists ? pooled.buffer.withEntry { key, _ in DocumentKey.decode([UInt8](copying: key)) } : nil
  }
}

extension PathScan {
  /// The entries of a collection group in the index of names; nil if the scan has none of them. The ends of
  /// the keys are paths, so that the entries of all groups can be merged.
  fileprivate func access(group: String) -> QueryPlan.Access? {
    let name = NameKey.prefix(group: group)
    var wanted = ranges
    var collection: [UInt8] = []
    if !isRecursive {
      for segment in (parent?.segments ?? []) + [group] { DocumentKey.append(segment, to: &collection) }
      wanted = wanted.intersection(.prefix(collection))
    }
    guard !wanted.isEmpty else { return nil }
    let keys = wanted.ranges.map { range in
      ByteRange(name + range.lower, range.upper.map { name + $0 } ?? name.prefixSuccessor)
    }
    return QueryPlan.Access(
      source: .names, prefixBytes: name.count + collection.count, ranges: keys, endPrefix: collection)
  }
}

extension StoreSnapshot {
  /// The first documents of a scan, in the order of their paths: up to `documentsMax`, ending behind the
  /// document that reaches `bytesMax`. A page can be empty before the end of the scan.
  package func page(
    of scan: PathScan, documentsMax: Int, bytesMax: Int = QueryPages.pageBytesStandard
  ) throws(DocumentStoreError) -> PathPage {
    try pathReader().page(of: scan, documentsMax: documentsMax, bytesMax: bytesMax)
  }
}
