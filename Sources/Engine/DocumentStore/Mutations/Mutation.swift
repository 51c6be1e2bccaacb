// What a write does to one document, as a value, and the one function that does it:
//
//   document after = apply(document before, mutation, commit time)

/// A change of one document.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let ada = try DocumentPath(["users", "ada"])
/// let visits = try StoredFieldPath(dotted: "visits")
/// try store.commit([
///   .set(ada, StoredMap([("name", .string("Ada"))]), precondition: .exists(false)),
///   .patch(ada, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(visits, .increment(.integer(1)))]),
///   .delete(DocumentPath(["users", "bob"])),
/// ])
/// ```
public struct Mutation: Sendable, Equatable {
  /// What is to become of the document.
  public enum Change: Sendable, Equatable {
    /// The document consists of these fields, and then of what the transforms make.
    case set(StoredMap, [FieldTransform])
    /// Each field of the mask becomes what these fields have at its path, and is removed where they have
    /// nothing; then come the transforms. The rest of the document stays. If there was none, there is
    /// one afterwards.
    case patch(StoredMap, FieldMask, [FieldTransform])
    /// The document is gone; fine if there was none.
    case delete
    /// Everything stays. Only the precondition counts.
    case verify
    /// The document is this one, with its times: a cache takes it from where it was checked and got them.
    case place(StoredMap, createTime: StoredTimestamp, updateTime: StoredTimestamp)
  }

  /// Which document.
  public let path: DocumentPath
  /// What is to become of it.
  public let change: Change
  /// What has to hold, or nothing of the commit is written.
  public let precondition: Precondition

  private init(_ path: DocumentPath, _ change: Change, _ precondition: Precondition) {
    self.path = path
    self.change = change
    self.precondition = precondition
  }

  /// Transforms compute from the new fields, never from those of the document before.
  public static func set(
    _ path: DocumentPath, _ fields: StoredMap, transforms: [FieldTransform] = [],
    precondition: Precondition = .none
  ) -> Mutation {
    Mutation(path, .set(fields, transforms), precondition)
  }

  /// Changes the fields that the mask names, and computes others.
  public static func patch(
    _ path: DocumentPath, _ fields: StoredMap, mask: FieldMask, transforms: [FieldTransform] = [],
    precondition: Precondition = .none
  ) -> Mutation {
    Mutation(path, .patch(fields, mask, transforms), precondition)
  }

  /// Removes the document; no error if there is none.
  public static func delete(_ path: DocumentPath, precondition: Precondition = .none) -> Mutation {
    Mutation(path, .delete, precondition)
  }

  /// Writes nothing, and refuses the commit unless the precondition holds.
  public static func verify(_ path: DocumentPath, _ precondition: Precondition) -> Mutation {
    Mutation(path, .verify, precondition)
  }

  package static func place(_ document: StoredDocument) -> Mutation {
    Mutation(
      document.path,
      .place(document.fields, createTime: document.createTime, updateTime: document.updateTime), .none)
  }

  /// The same write for another state of the document.
  package func requiring(_ precondition: Precondition) -> Mutation {
    Mutation(path, change, precondition)
  }

  /// What is computed when the write is committed.
  public var transforms: [FieldTransform] {
    switch change {
    case .set(_, let transforms), .patch(_, _, let transforms): transforms
    case .delete, .verify, .place: []
    }
  }

  /// Nobody has asked for it here: it is no part of a request.
  package var isPlacement: Bool { if case .place = change { true } else { false } }

  /// Whether the document afterwards depends on more than what is said here.
  var buildsOnOthers: Bool {
    switch change {
    case .set(_, let transforms): !transforms.isEmpty
    case .patch: true
    case .delete, .verify, .place: false
    }
  }

  // MARK: Applying

  /// The document after this mutation, or nil if there is none then. It keeps its update time if its
  /// fields stay the same, and else gets `updated`, or `time` without it. Throws `notFound`, `alreadyExists` or
  /// `failedPrecondition` if the precondition does not hold.
  package func apply(
    to base: StoredDocument?, at time: StoredTimestamp, updated: StoredTimestamp? = nil
  ) throws(DocumentStoreError) -> StoredDocument? {
    try outcome(on: base, at: time, updated: updated).document
  }

  package struct Outcome: Sendable, Equatable {
    package var document: StoredDocument?
    /// One for each transform, in their order: the new value, or null for an array.
    package var transformResults: [StoredValue]
  }

  /// What `apply` does, and what a remote answers.
  package func outcome(
    on base: StoredDocument?, at time: StoredTimestamp, updated: StoredTimestamp? = nil
  ) throws(DocumentStoreError) -> Outcome {
    try precondition.check(base, at: path, for: change.action)
    var after: StoredMap
    switch change {
    case .delete: return Outcome(document: nil, transformResults: [])
    case .verify: return Outcome(document: base, transformResults: [])
    case .place(let fields, let createTime, let updateTime):
      let placed = StoredDocument(
        path: path, createTime: createTime, updateTime: updateTime, fields: fields)
      return Outcome(document: placed, transformResults: [])
    case .set(let fields, _): after = fields
    case .patch(let fields, let mask, _):
      after = (base?.fields ?? StoredMap()).replacing(mask.paths, from: fields)
    }
    let results = transforms.map { $0.apply(to: &after, at: time) }
    let updateTime = base.flatMap { $0.fields == after ? $0.updateTime : nil } ?? updated ?? time
    // The time of a record whose head cannot be read is lost: the document begins now.
    let createTime = base.flatMap { $0.createTime == .unreadable ? nil : $0.createTime } ?? time
    let document = StoredDocument(
      path: path, createTime: createTime, updateTime: updateTime, fields: after)
    return Outcome(document: document, transformResults: results)
  }
}

extension Mutation.Change {
  /// As messages call it.
  fileprivate var action: String {
    switch self {
    case .set, .patch, .place: "update"
    case .delete: "delete"
    case .verify: "verify"
    }
  }
}
