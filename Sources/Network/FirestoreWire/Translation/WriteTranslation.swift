// Writes of messages, and mutations of the engine.

package import DocumentStore
package import OfflineSync

extension DatabaseName {
  // MARK: Reading

  /// Reads a write. Throws INVALID_ARGUMENT if it breaks a rule.
  package func mutation(_ write: Wire.Write) throws(RemoteError) -> Mutation {
    let precondition = try Precondition(write.currentDocument)
    switch write.operation {
    case nil: throw .invalid("empty write operation")
    case .update(let document):
      return try update(document, write, precondition: precondition)
    case .delete(let name):
      try Self.checkNothingElse(write, action: "delete")
      return .delete(try path(of: name), precondition: precondition)
    case .verify(let name):
      try Self.checkNothingElse(write, action: "verify")
      guard precondition != .none else { throw .invalid("a verify must contain a precondition") }
      return .verify(try path(of: name), precondition)
    case .transform(let transform):
      try Self.checkNothingElse(write, action: "transform")
      guard !transform.fieldTransforms.isEmpty else {
        throw .invalid("The list of FieldTransform must not be empty.")
      }
      return .patch(
        try path(of: transform.document), StoredMap(), mask: FieldMask([]),
        transforms: try FieldTransform.list(transform.fieldTransforms), precondition: precondition)
    }
  }

  private func update(
    _ document: Wire.Document, _ write: Wire.Write, precondition: Precondition
  ) throws(RemoteError) -> Mutation {
    let path = try path(of: document.name)
    let transforms = try FieldTransform.list(write.updateTransforms)
    guard let wireMask = write.updateMask else {
      try document.checkStored()
      return .set(path, document.fields, transforms: transforms, precondition: precondition)
    }
    let mask = try FieldMask(wireMask)
    try document.checkStored(mask)
    return .patch(path, document.fields, mask: mask, transforms: transforms, precondition: precondition)
  }

  private static func checkNothingElse(_ write: Wire.Write, action: String) throws(RemoteError) {
    guard write.updateMask == nil else {
      throw .invalid("a \(action) must not specify a document mask.")
    }
    guard write.updateTransforms.isEmpty else {
      throw .invalid("a \(action) must not specify a update transform.")
    }
  }

  // MARK: Writing

  /// The message for a mutation. Throws INTERNAL for a placed document, which no client can send.
  package func wire(_ mutation: Mutation) throws(RemoteError) -> Wire.Write {
    var write = Wire.Write()
    write.currentDocument = mutation.precondition.wire
    write.updateTransforms = mutation.transforms.map(\.wire)
    let name = name(of: mutation.path)
    switch mutation.change {
    case .set(let fields, _):
      write.operation = .update(Wire.Document(name: name, fields: fields))
    case .patch(let fields, let mask, _):
      // Fields that the mask does not list are not part of the write.
      write.operation = .update(Wire.Document(name: name, fields: fields.selecting(mask.paths)))
      write.updateMask = mask.wire
    case .delete: write.operation = .delete(name)
    case .verify: write.operation = .verify(name)
    case .place: throw RemoteError(.internal, "A document with given times is not a write of Firestore.")
    }
    return write
  }
}

// MARK: - Preconditions

extension Precondition {
  /// Reads a precondition; an absent one is none.
  package init(_ wire: Wire.Precondition?) throws(RemoteError) {
    switch wire?.conditionType {
    case nil: self = .none
    case .exists(let exists): self = .exists(exists)
    case .updateTime(let time):
      let stored = try time.exact("update time")
      guard time.seconds >= 0 else { throw .invalid("Only timestamps past epoch are supported.") }
      self = .updateTime(stored)
    }
  }

  /// The precondition as a message; nil if there is none.
  package var wire: Wire.Precondition? {
    var wire = Wire.Precondition()
    switch self {
    case .none: return nil
    case .exists(let exists): wire.conditionType = .exists(exists)
    case .updateTime(let time): wire.conditionType = .updateTime(Wire.Timestamp(time))
    }
    return wire
  }
}

// MARK: - Transforms

extension FieldTransform {
  fileprivate static func list(
    _ wire: [Wire.DocumentTransform.FieldTransform]
  ) throws(RemoteError) -> [FieldTransform] {
    var transforms: [FieldTransform] = []
    for transform in wire { transforms.append(try FieldTransform(transform)) }
    // In sorted order, a path is followed by those below it.
    let fields = transforms.map(\.field).sorted()
    for (outer, inner) in zip(fields, fields.dropFirst()) where outer != inner && outer.isPrefix(of: inner) {
      throw .invalid("Cannot transform property \(outer) and its nested property at the same time.")
    }
    return transforms
  }

  private init(_ wire: Wire.DocumentTransform.FieldTransform) throws(RemoteError) {
    let field = try FieldPathText.parse(field: wire.fieldPath)
    if let value = wire.pipelineValues.first { throw value.refused(as: field) }
    switch wire.transformType {
    case nil: throw .invalid("Operation type must be specified for field transformation.")
    case .setToServerValue(.unspecified):
      throw .invalid("ServerValue type must be specified for set_to_server_value transformation.")
    case .setToServerValue(.requestTime): self.init(field, .serverTimestamp)
    case .increment(let value): self.init(field, .increment(try Self.number(value)))
    case .maximum(let value): self.init(field, .maximum(try Self.number(value)))
    case .minimum(let value): self.init(field, .minimum(try Self.number(value)))
    case .appendMissingElements(let array): self.init(field, .arrayUnion(array.values))
    case .removeAllFromArray(let array): self.init(field, .arrayRemove(array.values))
    }
  }

  private static func number(_ value: StoredValue) throws(RemoteError) -> StoredNumber {
    guard let number = StoredNumber(value) else { throw .invalid("Input must be int64 or double.") }
    return number
  }

  fileprivate var wire: Wire.DocumentTransform.FieldTransform {
    var wire = Wire.DocumentTransform.FieldTransform()
    wire.fieldPath = FieldPathText.text(field)
    wire.transformType =
      switch operation {
      case .serverTimestamp: .setToServerValue(.requestTime)
      case .increment(let number): .increment(number.value)
      case .minimum(let number): .minimum(number.value)
      case .maximum(let number): .maximum(number.value)
      case .arrayUnion(let elements): .appendMissingElements(Wire.ArrayValue(elements))
      case .arrayRemove(let elements): .removeAllFromArray(Wire.ArrayValue(elements))
      }
    return wire
  }
}

extension Wire.ArrayValue {
  fileprivate init(_ values: [StoredValue]) {
    self.init()
    self.values = values
  }
}

// MARK: - Results

extension Wire.WriteResult {
  /// The message for a result. A write that did not change its document has no time.
  package init(_ result: WriteResult) {
    self.init()
    updateTime = result.version == .none ? nil : Wire.Timestamp(result.version.stored)
    transformResults = result.transformResults
  }
}

extension WriteResult {
  /// Reads a result. Firestore does not tell the version before the write.
  package init(_ wire: Wire.WriteResult) {
    self.init(
      version: SnapshotVersion(wire.updateTime), transformResults: wire.transformResults, versionBefore: nil)
  }
}
