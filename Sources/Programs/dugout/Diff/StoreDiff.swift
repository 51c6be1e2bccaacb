// Compares two stores: a merge of their documents in the order of their paths.

import ByteStore
import DocumentStore
import ObjectStore

/// A document, or a file of the storage.
struct ComparedItem {
  enum Kind { case document, file }

  var kind: Kind
  /// The path of a document, or the bucket and the name of a file.
  var name: String
  var fields: StoredMap
  var createTime: StoredTimestamp
  var updateTime: StoredTimestamp

  init(_ document: StoredDocument) {
    kind = .document
    name = PathText.printed(document.path.segments)
    fields = document.fields
    (createTime, updateTime) = (document.createTime, document.updateTime)
  }

  /// A file has its content as the digest, and the attributes that its owner sets.
  init(_ object: StoredObject) {
    kind = .file
    name = ShownText.escaped("\(object.path.bucket)/\(object.path.name)")
    let custom = object.attributes.custom.map { ($0.key, StoredValue.string($0.value)) }
    var entries: [StoredMap.Entry] = [
      ("sha256", .string(object.blob.description)), ("bytes", .integer(Int64(clamping: object.byteCount))),
    ]
    for field in ObjectAttributes.TextField.allCases {
      if let text = object.attributes[field] { entries.append((field.rawValue, .string(text))) }
    }
    if !custom.isEmpty {
      entries.append(("metadata", .map(StoredMap(custom.map { (name: $0.0, value: $0.1) }))))
    }
    fields = StoredMap(entries)
    (createTime, updateTime) = (object.contentTime, object.changed)
  }
}

/// One difference between two stores.
struct StoreDifference {
  enum Change: String { case added, removed, changed }

  var change: Change
  var item: ComparedItem
  /// The document in the second store that `item` became; nil unless it changed.
  var fields: [FieldChange] = []
  /// The times that differ, if times are compared.
  var times: [FieldChange] = []
}

struct StoreDiff {
  struct Counts: Equatable {
    var added = 0
    var removed = 0
    var changed = 0
    var equal = 0

    var different: Int { added + removed + changed }

    mutating func count(_ change: StoreDifference.Change?) {
      switch change {
      case .added: added += 1
      case .removed: removed += 1
      case .changed: changed += 1
      case nil: equal += 1
      }
    }
  }

  struct Outcome {
    var documents = Counts()
    var files = Counts()
    /// The documents that cannot be decoded in one of the stores, by its directory.
    var undecodable: [(directory: String, documents: Undecodable)] = []
    /// The states that were read beside writers.
    var snapshots: [(directory: String, snapshot: ShownSnapshot)] = []

    var isEqual: Bool { documents.different == 0 && files.different == 0 }
  }

  let before: DocumentStore
  let after: DocumentStore
  let comparesTimes: Bool
  /// Called with the number of compared documents of both stores.
  let progress: (Int) -> Void

  /// Passes each difference to `body`. Files are compared if `segments` is empty.
  func run(below segments: [String], _ body: (StoreDifference) -> Void) throws(DocumentStoreError) -> Outcome
  {
    var outcome = Outcome()
    outcome.undecodable = [(before.path, Undecodable()), (after.path, Undecodable())]
    try merge(
      (try documents(of: before, below: segments), try documents(of: after, below: segments)), &outcome,
      counts: \.documents, { ComparedItem($0) }, body)
    guard segments.isEmpty else { return outcome }
    let ids = [ReservedPath.objects]
    try merge(
      (try DocumentStream(before, ids: ids), try DocumentStream(after, ids: ids)), &outcome, counts: \.files,
      { StoredObject($0).map { ComparedItem($0) } }, body)
    return outcome
  }

  private func documents(
    of store: DocumentStore, below segments: [String]
  ) throws(DocumentStoreError) -> DocumentStream {
    let ids = try store.collectionGroups().filter(PathArgument.isCollectionID)
    return try DocumentStream(store, ids: ids, below: segments)
  }

  private func merge(
    _ streams: (DocumentStream, DocumentStream), _ outcome: inout Outcome,
    counts: WritableKeyPath<Outcome, Counts>, _ item: (StoredDocument) -> ComparedItem?,
    _ body: (StoreDifference) -> Void
  ) throws(DocumentStoreError) {
    var (before, after) = streams
    var (left, right) = (try before.next(), try after.next())
    var done = 0
    while left != nil || right != nil {
      let old = takesLeft(left, right) ? left : nil
      let new = takesLeft(right, left) ? right : nil
      if old != nil { left = try before.next() }
      if new != nil { right = try after.next() }
      done += (old == nil ? 0 : 1) + (new == nil ? 0 : 1)
      if done % 1000 < 2 { progress(done) }
      if let old, old.document == nil { outcome.undecodable[0].documents.add([old.path]) }
      if let new, new.document == nil { outcome.undecodable[1].documents.add([new.path]) }
      guard (old == nil) == (old?.document == nil), (new == nil) == (new?.document == nil) else { continue }
      let items = (old?.document.flatMap(item), new?.document.flatMap(item))
      guard items.0 != nil || items.1 != nil else { continue }
      let difference = difference(items.0, items.1)
      outcome[keyPath: counts].count(difference?.change)
      if let difference { body(difference) }
    }
  }

  /// Whether the first document is one of the next pair.
  private func takesLeft(_ left: PagedDocument?, _ right: PagedDocument?) -> Bool {
    guard let left else { return false }
    return right.map { !$0.precedes(left) } ?? true
  }

  private func difference(_ old: ComparedItem?, _ new: ComparedItem?) -> StoreDifference? {
    guard let old else { return new.map { StoreDifference(change: .added, item: $0) } }
    guard let new else { return StoreDifference(change: .removed, item: old) }
    let fields = FieldChange.changes(from: old.fields, to: new.fields)
    let pairs = [("created", old.createTime, new.createTime), ("updated", old.updateTime, new.updateTime)]
    let times =
      !comparesTimes
      ? []
      : pairs.filter { $0.1 != $0.2 }.map {
        FieldChange(field: $0.0, before: .timestamp($0.1), after: .timestamp($0.2))
      }
    guard !fields.isEmpty || !times.isEmpty else { return nil }
    return StoreDifference(change: .changed, item: old, fields: fields, times: times)
  }
}
