// Splits the documents of a collection group into parts of about equal counts.
//
//   1. The index of names counts the documents of the group.
//   2. Documents that have changed since the snapshot are additions to the index, or removals from it, at
//      known ranks.
//   3. Each part begins at a rank, where the index is read.

import ByteStore

extension StoreSnapshot {
  /// Paths of documents that split a collection group into parts of about equal counts, in the order of
  /// names. Each of them begins a part; the first part begins before all of them. There are fewer than
  /// `count` if the group is small. `changed` says of documents whether they exist, in place of the snapshot.
  /// Takes one seek for each path and for each changed document, regardless of the number of documents.
  package func splitPoints(
    ofGroup id: String, max count: Int, changed: [DocumentPath: Bool] = [:]
  ) throws(DocumentStoreError) -> [DocumentPath] {
    try names(changed: changed).splitPoints(ofGroup: id, max: count)
  }
}

extension CollectionNames {
  /// A document that the index lacks, or has too many.
  private struct Edit {
    /// The number of documents in the index before this one.
    let rank: Int
    let key: [UInt8]
    let path: DocumentPath
    let isAdded: Bool
  }

  func splitPoints(ofGroup id: String, max count: Int) throws(DocumentStoreError) -> [DocumentPath] {
    let prefix = NameKey.prefix(group: id)
    // The names of a group with such an id are not in order.
    guard prefix.count <= StoredKey.keptBytes, count > 0 else { return [] }
    var cursor = try index.cursor(over: .prefix(prefix))
    let edits = try edits(ofGroup: id, &cursor)
    let total = cursor.ranks.count + edits.reduce(0) { $0 + ($1.isAdded ? 1 : -1) }
    var targets: [Int] = []
    for number in 1...count {
      let target = Self.share(number, of: count + 1, in: max(0, total))
      if target > targets.last ?? 0 { targets.append(target) }
    }
    // Names that are too long for the index are not in order there.
    return try paths(at: targets, edits, moving: &cursor).sorted { ValueOrder.compare($0, $1) == .before }
  }

  /// The size of the first `number` of `parts` equal parts. Does not overflow.
  private static func share(_ number: Int, of parts: Int, in total: Int) -> Int {
    let (quotient, remainder) = total.quotientAndRemainder(dividingBy: parts)
    return quotient * number + remainder * number / parts
  }

  private func edits(
    ofGroup id: String, _ cursor: inout OrderedIndexCursor
  ) throws(DocumentStoreError) -> [Edit] {
    var edits: [Edit] = []
    for (path, exists) in changed where path.collectionID.isSameUTF8(as: id) && !path.isReserved {
      let key = StoredKey.of(NameKey.encode(path))
      guard try (index.ordinal(of: key.rawSpan) != nil) != exists else { continue }
      try cursor.seek(key.rawSpan)
      edits.append(Edit(rank: cursor.position, key: key, path: path, isAdded: exists))
    }
    return edits.sorted { $0.key.precedes($1.key) }
  }

  /// The documents at ascending ranks among the documents of the index with the edits.
  private func paths(
    at targets: [Int], _ edits: [Edit], moving cursor: inout OrderedIndexCursor
  ) throws(DocumentStoreError) -> [DocumentPath] {
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    var paths: [DocumentPath] = []
    var targets = targets[...]
    // The next document is that of `rank` in the index, and has the number `number` with the edits.
    var (rank, number) = (cursor.ranks.lowerBound, 0)
    for edit in edits.map(Optional.some) + [nil] {
      let length = max(0, (edit?.rank ?? cursor.ranks.upperBound) - rank)
      while let target = targets.first, target < number + length {
        targets = targets.dropFirst()
        cursor.seek(toRank: rank + target - number)
        guard try cursor.next() else { continue }
        let exists = try translatingErrors { () throws(ByteStoreError) in
          try snapshot.read(cursor.ordinal, into: &pooled.buffer)
        }
        let path = pooled.buffer.withEntry { key, _ in DocumentKey.decode([UInt8](copying: key)) }
        // Queries cannot begin at a reserved name.
        if exists, let path, !path.isReserved { paths.append(path) }
      }
      (rank, number) = (rank + length, number + length)
      guard let edit else { break }
      guard edit.isAdded else {
        rank += 1
        continue
      }
      if targets.first == number {
        paths.append(edit.path)
        targets = targets.dropFirst()
      }
      number += 1
    }
    return paths
  }
}
