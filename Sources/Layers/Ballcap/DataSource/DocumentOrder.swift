// In which order a data source has its documents.
//
// An order compares what it noted of an element when it placed it, not what the element holds meanwhile: whoever
// edits an object in place, or saves it, would else change the order under a search. An order of the user's compares
// the elements themselves, so there what was noted tells which have changed and are to be placed anew.

import FirebaseFirestore
import LayerKit

enum DocumentOrder<T: Object & DataRepresentable> {
  /// The latest update first.
  case latestUpdate
  /// As the query has them.
  case query(FirebaseFirestore.Query)
  case user((T, T) throws -> Bool)
}

/// An element of a data source, and what it stands for.
///
/// Neither this nor what is placed knows the type of the elements: so the compiler makes one tree for all data sources,
/// with the sizes of everything known, which is ten times as fast as one that asks at run time.
struct ListedDocument {
  let element: Object
  /// The document that the query found. With `retrieve` it may be another than the element's own.
  let reference: DocumentReference
  /// As the query found it last; nil for what was added by hand.
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

/// The same with what its order noted.
final class PlacedDocument {
  enum Note {
    /// What the query found never changes: it is read when somebody compares it.
    case unread(DocumentSnapshot)
    case time(Timestamp)
    /// Nil for what the query could not order; it comes last.
    case sortKey([UInt8]?)
    /// The data, and when it was updated.
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

/// Data that was noted.
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
      // What was read does not change when the object is saved.
      if case .time(let time) = element.snapshot?.time(at: DocumentTimes.updatedAt) { return .time(time) }
      return .time(element.updatedAt)
    case .query:
      return (document.found ?? element.snapshot).map(PlacedDocument.Note.unread) ?? .sortKey(nil)
    case .user: return .content(NotedData((element as! T).data), element.updatedAt)
    }
  }

  /// Whether the element is not what it was when it was placed.
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
