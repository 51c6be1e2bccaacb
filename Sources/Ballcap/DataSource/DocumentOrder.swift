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

/// An element of a data source: where it is from, and what its order noted.
struct PlacedDocument<T: Object & DataRepresentable> {
  enum Note {
    case time(Timestamp)
    /// Nil for what the query could not order; it comes last.
    case sortKey([UInt8]?)
    case content(T.Model?, Timestamp)
  }

  /// The document that the element stands for, which with `retrieve` may be another than the element's own.
  let reference: DocumentReference
  let element: T
  let note: Note

  /// Whether the element is not what it was when it was placed.
  var isStale: Bool {
    guard case .content(let data, let updatedAt) = note else { return false }
    return element.data != data || element.updatedAt != updatedAt
  }
}

extension DocumentOrder {
  func note(_ element: T) -> PlacedDocument<T>.Note {
    switch self {
    case .latestUpdate:
      // What was read does not change when the object is saved.
      if case .moment(let time) = element.snapshot?.time(at: DocumentTimes.updatedAt) { return .time(time) }
      return .time(element.updatedAt)
    case .query(let query): return .sortKey(element.snapshot.flatMap(query.sortKey))
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
