// A document to which pending mutations are applied, one after the other.
//
// A transform of an array takes time in proportion to the array. Hundreds of pending writes that append to
// one array would take hundreds of times that, again for each change of the remote's version. Therefore,
// consecutive unions of a field are collected and applied as one union, and consecutive removals as one
// removal:
//
//   union(union(array, x), y) = union(array, x + y)
//
// The collected elements are applied before any other mutation reads or writes their field.

internal import DocumentStore

struct PendingDocument {
  private struct ArrayChange {
    let isRemoval: Bool
    var elements: [StoredValue]

    var operation: FieldTransform.Operation { isRemoval ? .arrayRemove(elements) : .arrayUnion(elements) }
  }

  private var document: SyncedDocument
  /// The changes of arrays that are not applied yet. No path is a prefix of another.
  private var collected: [StoredFieldPath: ArrayChange] = [:]

  init(_ document: SyncedDocument) { self.document = document }

  /// Applies what is collected, and returns the document.
  mutating func finish() -> SyncedDocument {
    flushAll()
    return document
  }

  /// Whether the precondition holds after the mutations so far.
  func satisfies(_ precondition: PendingPrecondition) -> Bool { document.satisfies(precondition) }

  /// Applies the mutations of a batch that write this document.
  mutating func apply(_ batch: PendingBatch) {
    for mutation in batch.base(of: document.path) { apply(mutation, at: batch.time) }
    for (_, mutation) in batch.mutations(of: document.path) { apply(mutation, at: batch.time) }
  }

  /// Applies a mutation. It has no effect if its precondition fails.
  mutating func apply(_ mutation: PendingMutation, at time: StoredTimestamp) {
    guard satisfies(mutation.precondition) else { return }
    switch mutation.change {
    case .verify, .place: return
    case .delete:
      collected = [:]
      document.content = .absent
    case .set(let fields, let transforms):
      // A pending timestamp includes the previous value of its field.
      flushAll()
      let before = document.fields
      document.content = .found(fields)
      apply(transforms, before: before, at: time)
    case .patch(let values, let mask, let transforms):
      flush(mask.paths)
      flush(transforms.lazy.filter { $0.operation.elements == nil }.map(\.field))
      let before = document.fields
      if !mask.paths.isEmpty || before == nil {
        document.content = .found((before ?? StoredMap()).replacing(mask.paths, from: values))
      }
      apply(transforms, before: before, at: time)
    }
    document.version = .none
    document.pending = .local
    document.isAssumed = false
  }

  // MARK: Transforms

  /// `before` has the fields before the mutation.
  private mutating func apply(_ transforms: [FieldTransform], before: StoredMap?, at time: StoredTimestamp) {
    for transform in transforms where !collect(transform) {
      let field = transform.field
      flush(CollectionOfOne(field))
      let value = transform.operation.pendingValue(
        of: document.fields?[field], before: before?[field], at: time)
      document.set(value, at: field)
    }
  }

  /// Collects the elements of a transform of an array. Returns false for other transforms.
  private mutating func collect(_ transform: FieldTransform) -> Bool {
    guard let elements = transform.operation.elements else { return false }
    let isRemoval = if case .arrayRemove = transform.operation { true } else { false }
    if collected[transform.field]?.isRemoval == isRemoval {
      collected[transform.field]?.elements += elements
    } else {
      flush(CollectionOfOne(transform.field))
      collected[transform.field] = ArrayChange(isRemoval: isRemoval, elements: elements)
    }
    return true
  }

  /// Applies the collected changes of fields that are at, above or below one of the paths.
  private mutating func flush(_ paths: some Sequence<StoredFieldPath>) {
    guard !collected.isEmpty else { return }
    for path in paths {
      for field in Array(collected.keys) where field.isPrefix(of: path) || path.isPrefix(of: field) {
        flush(field)
      }
    }
  }

  private mutating func flushAll() { for field in Array(collected.keys) { flush(field) } }

  private mutating func flush(_ field: StoredFieldPath) {
    guard let change = collected.removeValue(forKey: field) else { return }
    // The elements of an array do not depend on the time.
    document.set(change.operation.value(from: document.fields?[field], at: .epoch), at: field)
  }
}

extension SyncedDocument {
  fileprivate mutating func set(_ value: StoredValue, at field: StoredFieldPath) {
    guard case .found(var fields) = content else { return }
    // The document must not hold the fields during the change, because they would be copied.
    content = .invalid
    fields.set(value, at: field)
    content = .found(fields)
  }
}

extension FieldTransform.Operation {
  /// `before` is the field's value before the mutation, `value` its current value.
  fileprivate func pendingValue(
    of value: StoredValue?, before: StoredValue?, at time: StoredTimestamp
  ) -> StoredValue {
    guard self == .serverTimestamp else { return self.value(from: value, at: time) }
    // A chain of pending timestamps keeps the last real value.
    if case .pendingTimestamp(_, let previous) = before { return .pendingTimestamp(time, previous: previous) }
    return .pendingTimestamp(time, previous: before)
  }
}
