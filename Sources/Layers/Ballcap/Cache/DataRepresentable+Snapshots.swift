// Creates objects from snapshots.

public import FirebaseFirestore
import Foundation
import LayerKit

/// A shared decoder, because creating a decoder for each document would slow down reads.
private struct PlainDecoder: @unchecked Sendable {
  // Unchecked, because the decoder is never configured.
  static let shared = PlainDecoder()
  let decoder = Firestore.Decoder()
}

extension DataRepresentable where Self: Object {
  /// Creates the object of a document that was read. `data` is nil if the document does not exist. Throws if
  /// the document does not decode. Adds the snapshot to the cache.
  public init(snapshot: DocumentSnapshot) throws {
    if snapshot.exists {
      try self.init(found: snapshot, at: Date(), decoder: PlainDecoder.shared.decoder)
    } else {
      self.init(snapshot.reference)
      self.snapshot = snapshot
    }
    DocumentCache.shared.note(snapshot)
  }

  private init(found snapshot: DocumentSnapshot, at readTime: Date, decoder: Firestore.Decoder) throws {
    let data = try snapshot.data(as: Model.self, with: .estimate, decoder: decoder)
    self.init(snapshot.reference)
    self.snapshot = snapshot
    self.data = data
    ballcapTimes = DocumentTimes(read: snapshot, at: readTime)
  }

  /// Returns the object of a snapshot, as `init(snapshot:)` does. Faster for classes that override
  /// `ballcapWhole`.
  static func object(of snapshot: DocumentSnapshot) throws -> Self {
    guard snapshot.exists else { return try Self(snapshot: snapshot) }
    let object = try object(found: snapshot, at: Date(), decoder: PlainDecoder.shared.decoder)
    DocumentCache.shared.note(snapshot)
    return object
  }

  private static func object(
    found snapshot: DocumentSnapshot, at readTime: Date, decoder: Firestore.Decoder
  ) throws -> Self {
    if let object = try ballcapWhole(of: snapshot, at: readTime, decoder: decoder) { return object as! Self }
    return try Self(found: snapshot, at: readTime, decoder: decoder)
  }

  /// Returns the objects of the documents that decode, and these documents. Calls `failed` for each other
  /// document.
  static func objects(
    of documents: [QueryDocumentSnapshot], _ failed: (any Error) -> Void
  ) -> (objects: [Self], found: [QueryDocumentSnapshot]) {
    var objects: [Self] = []
    objects.reserveCapacity(documents.count)
    var found = documents
    let (decoder, readTime) = (PlainDecoder.shared.decoder, Date())
    for (place, document) in documents.enumerated() {
      do {
        objects.append(try object(found: document, at: readTime, decoder: decoder))
        if objects.count <= place { found[objects.count - 1] = document }
      } catch {
        failed(error)
      }
    }
    found.removeLast(documents.count - objects.count)
    DocumentCache.shared.note(found)
    return (objects, found)
  }

  /// Updates this object from a listener's snapshot. If a pending server timestamp does not decode, an
  /// estimate of the timestamp is used.
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

  /// Whether the document exists. If it does not, its absence is added to the cache.
  static func hasDocument(_ snapshot: DocumentSnapshot) -> Bool {
    if !snapshot.exists { DocumentCache.shared.note(snapshot) }
    return snapshot.exists
  }
}
