// Objects and what was read of their documents.

public import FirebaseFirestore
import Foundation
import LayerKit

/// One for all: to make one for each document is a part of the time of reading it.
private struct PlainDecoder: @unchecked Sendable {
  // Unchecked, because nobody ever sets anything of it.
  static let shared = PlainDecoder()
  let decoder = Firestore.Decoder()
}

extension DataRepresentable where Self: Object {
  /// The object of a document that was read. `data` is nil if the document does not exist; throws if it does
  /// not decode. What was read is in the cache afterwards.
  public init(snapshot: DocumentSnapshot) throws {
    if snapshot.exists {
      try self.init(found: snapshot, at: Date(), PlainDecoder.shared.decoder)
    } else {
      self.init(snapshot.reference)
      self.snapshot = snapshot
    }
    DocumentCache.shared.note(snapshot)
  }

  private init(found snapshot: DocumentSnapshot, at moment: Date, _ decoder: Firestore.Decoder) throws {
    let data = try snapshot.data(as: Model.self, with: .estimate, decoder: decoder)
    self.init(snapshot.reference)
    self.snapshot = snapshot
    self.data = data
    ballcapTimes = DocumentTimes(read: snapshot, at: moment)
  }

  /// The same as `init(snapshot:)`, and faster where the class knows a way.
  static func object(of snapshot: DocumentSnapshot) throws -> Self {
    guard snapshot.exists else { return try Self(snapshot: snapshot) }
    let object = try object(found: snapshot, at: Date(), PlainDecoder.shared.decoder)
    DocumentCache.shared.note(snapshot)
    return object
  }

  private static func object(
    found snapshot: DocumentSnapshot, at moment: Date, _ decoder: Firestore.Decoder
  ) throws -> Self {
    if let object = try ballcapWhole(of: snapshot, at: moment, decoder) { return object as! Self }
    return try Self(found: snapshot, at: moment, decoder)
  }

  /// The objects of documents that a query found, and the documents beside them, without those that do not
  /// decode.
  static func objects(
    of documents: [QueryDocumentSnapshot], _ failed: (any Error) -> Void
  ) -> (objects: [Self], found: [QueryDocumentSnapshot]) {
    var objects: [Self] = []
    objects.reserveCapacity(documents.count)
    var found = documents
    let (decoder, moment) = (PlainDecoder.shared.decoder, Date())
    for (place, document) in documents.enumerated() {
      do {
        objects.append(try object(found: document, at: moment, decoder))
        if objects.count <= place { found[objects.count - 1] = document }
      } catch {
        failed(error)
      }
    }
    found.removeLast(documents.count - objects.count)
    DocumentCache.shared.note(found)
    return (objects, found)
  }

  /// Takes over what a listener was told. Where a moment that the server has not set yet does not decode, it
  /// is estimated.
  // swift-format-ignore: NoLeadingUnderscores
  func _set(snapshot: DocumentSnapshot) throws {
    self.snapshot = snapshot
    guard snapshot.exists else { return DocumentCache.shared.note(snapshot) }
    do {
      data = try snapshot.data(as: Model.self)
    } catch {
      data = try snapshot.data(as: Model.self, with: .estimate)
    }
    ballcapTimes.update(from: snapshot)
    DocumentCache.shared.note(snapshot)
  }

  /// Whether there is a document. That there is none is noted, as what is read is.
  static func finds(_ snapshot: DocumentSnapshot) -> Bool {
    if !snapshot.exists { DocumentCache.shared.note(snapshot) }
    return snapshot.exists
  }
}
