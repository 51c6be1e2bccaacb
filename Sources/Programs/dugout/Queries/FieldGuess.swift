// Guesses which field a user meant.

import DocumentStore

enum FieldGuess {
  /// The number of documents whose names are compared with a mistyped one.
  static let documentsMax = 100

  /// Returns the name of a field that differs from the given one by one typing error; nil if there is none.
  static func near(_ field: StoredFieldPath, in documents: [StoredDocument]) -> String? {
    guard let last = field.names.last else { return nil }
    let parent = field.names.dropLast()
    for document in documents.prefix(documentsMax) {
      let map: StoredMap
      if parent.isEmpty {
        map = document.fields
      } else if case .map(let inner)? = document.value(of: StoredFieldPath(unchecked: Array(parent))) {
        map = inner
      } else {
        continue
      }
      let near = map.entries.map(\.name).first { Wording.areOneTypoApart($0, last) }
      if let near { return StoredFieldPath.canonical(parent + [near]) }
    }
    return nil
  }

  /// Returns a hint if a query finds nothing because a field in it may be mistyped. No field is guessed if
  /// one of the first documents has the field.
  static func hint(_ query: StructuredQuery, _ store: DocumentStore) throws(DocumentStoreError) -> String? {
    let all = StructuredQuery(query.scope)
    let fields = query.filters.flatMap(\.leaves).map(\.field) + query.explicitOrders.map(\.field)
    let documents = try store.decodableDocuments(all.limited(to: .first(documentsMax))).documents
    for field in fields
    where field != .documentID && !documents.contains(where: { $0.value(of: field) != nil }) {
      guard let near = near(field, in: documents) else { continue }
      let first =
        documents.count < documentsMax ? "no document" : "none of the first \(documentsMax) documents"
      return
        "\(first) has the field \(ShownText.escaped(field.canonical)). Did you mean \(ShownText.escaped(near))?"
    }
    return nil
  }
}
