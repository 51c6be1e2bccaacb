// The orders of a data source.
//
// An order compares the notes that were taken when the elements were placed, not the present content of the
// elements. Otherwise an edit of an object in place would change the order during a search. An order that the
// user defines is the exception: it compares the elements themselves. Its notes only serve to find the
// elements that have changed and must be placed again.

import FirebaseFirestore
import LayerKit

enum DocumentOrder<T: Object & DataRepresentable> {
  /// Descending order of the update times.
  case latestUpdate
  /// The order of the query.
  case query(FirebaseFirestore.Query)
  case user((T, T) throws -> Bool)

  var isQuery: Bool { if case .query = self { true } else { false } }
}

/// An element of a data source, and its document.
///
/// This type, PlacedDocument and PlacedDocumentOrder are not generic. So the compiler specializes one list
/// for all data sources, which is much faster than a generic list.
struct ListedDocument {
  let element: Object
  /// The document that the query found. With `retrieve`, the element may belong to a different document.
  let reference: DocumentReference
  /// The snapshot that the query found last; nil for a document that was inserted by hand.
  let found: DocumentSnapshot?

  init(_ element: Object, found: DocumentSnapshot) {
    self.element = element
    reference = found.reference
    self.found = found
  }

  init(_ element: Object, at reference: DocumentReference) {
    self.element = element
    self.reference = reference
    found = nil
  }
}

/// A listed document with the note that its order took when the document was placed.
final class PlacedDocument {
  enum Note {
    /// The snapshot from which the first comparison computes the sort key. The snapshot never changes.
    case unread(DocumentSnapshot)
    case time(Timestamp)
    /// Nil if the query cannot order the document. Such a document comes last.
    case sortKey([UInt8]?)
    /// The data and its update time.
    case content(AnyObject, Timestamp)
  }

  let document: ListedDocument
  fileprivate(set) var note: Note

  init(_ document: ListedDocument, _ note: Note) {
    self.document = document
    self.note = note
  }

  var element: Object { document.element }
  var reference: DocumentReference { document.reference }
}

/// The element's data at the time when the note was taken.
private final class NotedData<Model> {
  let data: Model?

  init(_ data: Model?) { self.data = data }
}

extension DocumentOrder {
  fileprivate func note(_ document: ListedDocument) -> PlacedDocument.Note {
    let element = document.element
    switch self {
    case .latestUpdate:
      // The update time in the snapshot does not change when the object is saved.
      if case .time(let time) = element.snapshot?.time(at: DocumentTimes.updatedAt) { return .time(time) }
      return .time(element.updatedAt)
    case .query:
      return (document.found ?? element.snapshot).map(PlacedDocument.Note.unread) ?? .sortKey(nil)
    case .user: return .content(NotedData((element as! T).data), element.updatedAt)
    }
  }

  /// Whether the element has changed since it was placed.
  fileprivate func isStale(_ placed: PlacedDocument) -> Bool {
    guard case .content(let data, let updatedAt) = placed.note else { return false }
    return (placed.element as! T).data != (data as! NotedData<T.Model>).data
      || placed.element.updatedAt != updatedAt
  }

  fileprivate func isBefore(_ placed: PlacedDocument, _ other: PlacedDocument) throws -> Bool {
    switch self {
    case .user(let areInOrder): return try areInOrder(placed.element as! T, other.element as! T)
    case .query(let query):
      placed.read(query)
      other.read(query)
    case .latestUpdate: break
    }
    return PlacedDocument.areInOrder(placed.note, other.note)
  }
}

extension PlacedDocument {
  fileprivate func read(_ query: FirebaseFirestore.Query) {
    if case .unread(let snapshot) = note { note = .sortKey(query.sortKey(snapshot)) }
  }

  fileprivate static func areInOrder(_ left: Note, _ right: Note) -> Bool {
    switch (left, right) {
    case (.time(let left), .time(let right)): right < left
    case (.sortKey(let left?), .sortKey(let right?)): left.lexicographicallyPrecedes(right)
    case (.sortKey(_?), .sortKey(nil)): true
    default: false
    }
  }
}

/// A `DocumentOrder` without the type of the objects.
struct PlacedDocumentOrder: ListOrder {
  private let note: (ListedDocument) -> PlacedDocument.Note
  private let staleness: (PlacedDocument) -> Bool
  private let comparison: (PlacedDocument, PlacedDocument) throws -> Bool

  init<T>(_ order: DocumentOrder<T>) {
    (note, staleness, comparison) = (order.note, order.isStale, order.isBefore)
  }

  func place(_ document: ListedDocument) -> PlacedDocument { PlacedDocument(document, note(document)) }

  func placedAgain(_ placed: PlacedDocument) -> PlacedDocument { place(placed.document) }

  func key(of placed: PlacedDocument) -> DocumentReference { placed.reference }

  func isStale(_ placed: PlacedDocument) -> Bool { staleness(placed) }

  func isBefore(_ placed: PlacedDocument, _ other: PlacedDocument) throws -> Bool {
    try comparison(placed, other)
  }
}
