// In which order a data source has its documents.
//
// An order compares what it noted of an element when it placed it, not what the element holds meanwhile: whoever
// edits an object in place, or saves it, would else change the order under a search. An order of the user's compares
// the elements themselves, so there what was noted tells which have changed and are to be placed anew.

import FirebaseFirestore

enum DocumentOrder<T: Object & DataRepresentable> {
  /// The latest update first.
  case latestUpdate
  /// As the query has them.
  case query(FirebaseFirestore.Query)
  case user((T, T) throws -> Bool)
}

/// An element of a data source, and what it stands for.
struct ListedDocument<T: Object & DataRepresentable> {
  let element: T
  /// The document that the query found. With `retrieve` it may be another than the element's own.
  let reference: DocumentReference
  /// As the query found it last; nil for what was added by hand.
  let found: DocumentSnapshot?

  init(_ element: T, found: DocumentSnapshot) {
    self.element = element
    reference = found.reference
    self.found = found
  }

  init(_ element: T, at reference: DocumentReference) {
    self.element = element
    self.reference = reference
    found = nil
  }

  /// What the query would go by.
  var asFound: DocumentSnapshot? { found ?? element.snapshot }
}

/// The same with what its order noted.
struct PlacedDocument<T: Object & DataRepresentable> {
  enum Note {
    case time(Timestamp)
    /// Nil for what the query could not order; it comes last.
    case sortKey([UInt8]?)
    case content(T.Model?, Timestamp)
  }

  let document: ListedDocument<T>
  let note: Note

  var element: T { document.element }
  var reference: DocumentReference { document.reference }

  /// Whether the element is not what it was when it was placed.
  var isStale: Bool {
    guard case .content(let data, let updatedAt) = note else { return false }
    return element.data != data || element.updatedAt != updatedAt
  }
}

extension DocumentOrder {
  func note(_ document: ListedDocument<T>) -> PlacedDocument<T>.Note {
    let element = document.element
    switch self {
    case .latestUpdate:
      // What was read does not change when the object is saved.
      if case .moment(let time) = element.snapshot?.time(at: DocumentTimes.updatedAt) { return .time(time) }
      return .time(element.updatedAt)
    case .query(let query): return .sortKey(document.asFound.flatMap(query.sortKey))
    case .user: return .content(element.data, element.updatedAt)
    }
  }

  func areInOrder(_ left: PlacedDocument<T>, _ right: PlacedDocument<T>) throws -> Bool {
    switch (self, left.note, right.note) {
    case (.user(let areInOrder), _, _): try areInOrder(left.element, right.element)
    case (_, .time(let left), .time(let right)): right < left
    case (_, .sortKey(let left?), .sortKey(let right?)): left.lexicographicallyPrecedes(right)
    case (_, .sortKey(_?), .sortKey(nil)): true
    default: false
    }
  }
}
