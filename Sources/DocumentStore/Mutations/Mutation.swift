// What a write does to one document, as a value, and the one function that does it:
//
//   document after = apply(document before, mutation, commit time)

/// A change of one document.
public struct Mutation: Sendable, Equatable {
  public enum Change: Sendable, Equatable {
    /// The document becomes these fields, then the transforms.
    case set(StoredMap, [FieldTransform])
    /// The document is gone; fine if there was none.
    case delete
  }

  public let path: DocumentPath
  public let change: Change

  private init(_ path: DocumentPath, _ change: Change) {
    self.path = path
    self.change = change
  }

  public static func set(
    _ path: DocumentPath, _ fields: StoredMap, transforms: [FieldTransform] = []
  ) -> Mutation {
    Mutation(path, .set(fields, transforms))
  }

  public static func delete(_ path: DocumentPath) -> Mutation { Mutation(path, .delete) }

  /// The document after this mutation, or nil if there is none then.
  func apply(to base: StoredDocument?, at time: StoredTimestamp) -> StoredDocument? {
    switch change {
    case .delete:
      return nil
    case .set(var fields, let transforms):
      for transform in transforms { transform.apply(to: &fields, at: time) }
      return StoredDocument(
        path: path, createTime: base?.createTime ?? time, updateTime: time, fields: fields)
    }
  }
}

/// A value that is computed at the commit.
public struct FieldTransform: Sendable, Equatable {
  public enum Operation: Sendable, Equatable {
    /// The time of the commit.
    case serverTimestamp
  }

  /// Names from the outermost map inwards; never empty.
  public let field: [String]
  public let operation: Operation

  public init(field: [String], _ operation: Operation) {
    precondition(!field.isEmpty, "a field path has at least one name")
    self.field = field
    self.operation = operation
  }

  func apply(to fields: inout StoredMap, at time: StoredTimestamp) {
    switch operation {
    case .serverTimestamp: fields.set(.timestamp(time), at: field[...])
    }
  }
}

extension StoredMap {
  /// Makes the maps on the way; what is in the way and is no map is replaced by one.
  fileprivate mutating func set(_ value: StoredValue, at field: ArraySlice<String>) {
    guard let name = field.first else { return }
    guard field.count > 1 else {
      self[name] = value
      return
    }
    var inner = StoredMap()
    if case .map(let existing) = self[name] { inner = existing }
    inner.set(value, at: field.dropFirst())
    self[name] = .map(inner)
  }
}
