// The orders of a data source.
//
// An order compares notes that were taken when an element was placed, and not the element's present content.
// Otherwise an edit of an object in place would change the order during a search. An order of the user
// compares the elements themselves. Its notes serve to find the elements that have changed and must be placed
// again.

import FirebaseFirestore
import LayerKit

enum DocumentOrder<T: Object & DataRepresentable> {
  /// The latest update first.
  case latestUpdate
  /// The order of the query.
  case query(FirebaseFirestore.Query)
  case user((T, T) throws -> Bool)
}

/// An element of a data source, and its document.
///
/// Neither this type nor PlacedDocument is generic. So the compiler builds one specialized tree for all data
/// sources, which is much faster than a generic tree.
struct ListedDocument {
  let element: Object
  /// The document that the query found. With `retrieve` it can differ from the document of the element.
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

/// An element with the note of its order.
final class PlacedDocument {
  enum Note {
    /// The sort key is computed at the first comparison. The snapshot never changes.
    case unread(DocumentSnapshot)
    case time(Timestamp)
    /// Nil if the query cannot order the document, which then comes last.
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

/// The data at the time of the note.
private final class NotedData<Model> {
  let data: Model?

  init(_ data: Model?) { self.data = data }
}

extension DocumentOrder {
  func place(_ document: ListedDocument) -> PlacedDocument { PlacedDocument(document, note(document)) }

  private func note(_ document: ListedDocument) -> PlacedDocument.Note {
    let element = document.element
    switch self {
    case .latestUpdate:
      // The snapshot's time does not change when the object is saved.
      if case .time(let time) = element.snapshot?.time(at: DocumentTimes.updatedAt) { return .time(time) }
      return .time(element.updatedAt)
    case .query:
      return (document.found ?? element.snapshot).map(PlacedDocument.Note.unread) ?? .sortKey(nil)
    case .user: return .content(NotedData((element as! T).data), element.updatedAt)
    }
  }

  /// Whether the element has changed since it was placed.
  func isStale(_ placed: PlacedDocument) -> Bool {
    guard case .content(let data, let updatedAt) = placed.note else { return false }
    return (placed.element as! T).data != (data as! NotedData<T.Model>).data
      || placed.element.updatedAt != updatedAt
  }

  func areInOrder(_ left: PlacedDocument, _ right: PlacedDocument) throws -> Bool {
    switch self {
    case .user(let areInOrder): return try areInOrder(left.element as! T, right.element as! T)
    case .query(let query):
      left.read(query)
      right.read(query)
    case .latestUpdate: break
    }
    return PlacedDocument.areInOrder(left.note, right.note)
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
