// The documents of a catch-up, and what becomes of them.

#if Server
import DocumentStore

enum CatchUpDocuments {
  static let collection = CollectionPath(unchecked: ["places"])
  private static let text = String(repeating: "abcdefghi ", count: 24)

  static var query: StructuredQuery { StructuredQuery(.collection(collection)) }

  static func path(_ number: Int) -> DocumentPath {
    DocumentPath(unchecked: ["places", "d\(10_000_000 + number)"])
  }

  static func fields(_ number: Int, change: Int) -> StoredMap {
    StoredMap([
      (name: "change", value: .integer(Int64(change))), (name: "n", value: .integer(Int64(number))),
      (name: "text", value: .string("\(number) \(text)")),
    ])
  }

  /// A document that exists before the client leaves.
  static func document(_ number: Int) -> Mutation { .set(path(number), fields(number, change: 0)) }

  // MARK: Changes

  /// A change of the server while the client is away. The changed documents are spread over all of them.
  static func change(_ index: Int, _ plan: CatchUpPlan) -> Mutation {
    let number = index * plan.documents / max(1, plan.changes)
    return switch index % 20 {
    case 7, 14: .delete(path(number))
    case 19: .set(path(plan.documents + index), fields(number, change: index))
    default: .set(path(number), fields(number, change: index))
    }
  }

  // MARK: Writes of the client

  static let taps = StoredFieldPath(unchecked: ["taps"])

  /// A write of the client while it is away.
  static func write(_ index: Int, _ plan: CatchUpPlan) -> Mutation {
    guard index.isMultiple(of: 2) else {
      return .set(DocumentPath(unchecked: ["places", "p\(10_000_000 + index)"]), fields(index, change: -1))
    }
    let number = index * plan.documents / max(1, plan.writes)
    return .patch(
      path(number), StoredMap(), mask: FieldMask([]),
      transforms: [FieldTransform(taps, .increment(.integer(1)))])
  }

  static func increments(_ plan: CatchUpPlan) -> Int { (plan.writes + 1) / 2 }

  // MARK: Contents

  /// A digest of documents in their order.
  static func digest(_ documents: some Sequence<StoredDocument>) -> UInt64 {
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    func add(_ text: String) {
      for byte in text.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
    for document in documents {
      add(document.path.description)
      for field in ["change", "n", "taps", "text"] { add(text(of: document.fields[field])) }
    }
    return digest
  }

  private static func text(of value: StoredValue?) -> String {
    switch value {
    case .integer(let number): " \(number)"
    case .string(let text): " \(text)"
    case nil: " -"
    default: " ?"
    }
  }
}
#endif
