// The changes of documents that the WAL contains, as changes of index keys.

import ByteStore

/// Document changes to apply together.
struct RecoveredDocuments: Sendable {
  fileprivate(set) var names = KeyChanges()
  /// The collection ids of nested documents, by the place of the change.
  fileprivate(set) var nestedIDs: [Int: String] = [:]
  /// The key changes by index id.
  fileprivate(set) var keys: [UInt32: KeyChanges] = [:]
  /// The ordinal of each changed document; `max` if the change removes it.
  fileprivate(set) var ordinals: [UInt32] = []
}

// MARK: Making keys

extension RecoveredDocuments {
  /// A change of one document, and the place of its key in the store.
  private struct Change {
    /// Index of the recovered change.
    let source: Int
    let segments: LastSegments
    let hasBefore: Bool
    let hasAfter: Bool
  }

  /// Makes the keys of recovered changes. Changes with invalid keys are left out.
  init(_ part: [ByteStore.RecoveredChange], _ indexes: [RecoveredParts.Index], shapes: ShapeTable) {
    let changes = addNames(of: part)
    for index in indexes {
      let keys = Self.keys(of: changes, in: part, for: index.definition, shapes: shapes)
      if let keys { self.keys[index.id] = keys }
    }
  }

  private mutating func addNames(of part: [ByteStore.RecoveredChange]) -> [Change] {
    var changes: [Change] = []
    changes.reserveCapacity(part.count)
    ordinals.reserveCapacity(part.count)
    for source in part.indices {
      let key = part[source].key
      guard let segments = LastSegments(key.rawSpan) else { continue }
      let (before, after) = (part[source].before?.ordinal, part[source].after?.ordinal)
      // A document that was deleted and created again may have a new ordinal. The change is then split into a
      // removal and an addition, so that all keys of the document get the new ordinal.
      let isSplit = before != nil && after != nil && before != after
      if isSplit {
        let removal = Change(source: source, segments: segments, hasBefore: true, hasAfter: false)
        changes.append(removal)
        add(key, removal, ordinal: .max)
      }
      let change = Change(
        source: source, segments: segments, hasBefore: before != nil && !isSplit, hasAfter: after != nil)
      changes.append(change)
      add(key, change, ordinal: after ?? .max)
    }
    return changes
  }

  /// Adds the next change. An updated document keeps its name.
  private mutating func add(_ key: [UInt8], _ change: Change, ordinal: UInt32) {
    let place = ordinals.count
    ordinals.append(ordinal)
    guard change.hasBefore != change.hasAfter else { return }
    let parts = DocumentKeyParts(key.rawSpan, change.segments)
    names.addName(parts.collection, key.rawSpan, at: place, isAdded: change.hasAfter)
    if parts.isNested { nestedIDs[place] = DocumentKey.decode(key)?.collectionID }
  }

  /// The key changes of an index; nil if no document is in its collections.
  private static func keys(
    of changes: [Change], in part: [ByteStore.RecoveredChange], for definition: IndexDefinition,
    shapes: ShapeTable
  ) -> KeyChanges? {
    var keys: KeyChanges?
    var records = RecordPairKeys(definition.keyPlans, shapes.origin)
    let group = records.group
    for (place, change) in changes.enumerated() {
      let source = part[change.source]
      let document = DocumentKeyParts(source.key.rawSpan, change.segments)
      guard document.collection.isSame(as: group.rawSpan) else { continue }
      let before = change.hasBefore ? source.before?.value ?? [] : []
      let after = change.hasAfter ? source.after?.value ?? [] : []
      let isDamaged = before.isEmpty == change.hasBefore || after.isEmpty == change.hasAfter
      let outcome =
        isDamaged
        ? .undecided
        : records.compare(
          source.key.rawSpan, before.rawSpan, shapes: shapes, to: after.rawSpan, shapes: shapes)
      if keys == nil { keys = KeyChanges() }
      keys?.add(outcome, records, at: place)
    }
    return keys
  }
}
