// Documents of the store as messages.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension ServedDatabase {
  /// A document as responses contain it, with the fields of a mask.
  func document(_ record: DocumentRecord, _ mask: FieldMask?) -> Wire.Document {
    // Fields that stay encoded are written to the message without a tree of values.
    let stored = record.encodedDocument
    var document = name.wire(stored, mask: mask)
    document.updateTime = Wire.Timestamp(authority.life.raised(SnapshotVersion(stored.updateTime)).stored)
    return document
  }

  /// The mutations of writes, which must all be writes of this database.
  func mutations(_ writes: [Wire.Write]) throws(RemoteError) -> [Mutation] {
    var mutations: [Mutation] = []
    mutations.reserveCapacity(writes.count)
    for write in writes { mutations.append(try name.mutation(write)) }
    return mutations
  }

  /// Throws if a document is verified twice in one commit, or is verified and written. The precondition would
  /// then be one of the write.
  func checkVerified(_ mutations: [Mutation]) throws(RemoteError) {
    guard mutations.contains(where: \.isVerification) else { return }
    var verified: Set<DocumentPath> = []
    var written: Set<DocumentPath> = []
    for mutation in mutations {
      let isVerification = mutation.isVerification
      let isNew =
        isVerification ? verified.insert(mutation.path).inserted : written.insert(mutation.path).inserted
      guard isNew || !isVerification else {
        throw RemoteError(
          .invalidArgument, "the same document cannot be verified more than once in a single request")
      }
      guard verified.contains(mutation.path), written.contains(mutation.path) else { continue }
      let order = isVerification ? "written and then verified" : "verified and then written"
      throw RemoteError(
        .invalidArgument, "the same document cannot be \(order) in a single request")
    }
  }
}

/// `google.protobuf.Empty`.
struct EmptyResponse: WireMessage {
  init() {}

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {}
}

extension FieldMask {
  /// The mask of a request; nil if the request has none.
  init?(of request: Wire.DocumentMask?) throws(RemoteError) {
    guard let request else { return nil }
    try self.init(request)
  }
}

extension Mutation {
  fileprivate var isVerification: Bool { if case .verify = change { true } else { false } }
}
