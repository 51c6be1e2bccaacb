// The optional root document of all collections.

private import ByteStore
public import FirebaseFirestore

/// The location of the collections of all models and objects.
public final class BallcapApp: Sendable {
  private static let root = Locked<DocumentReference?>(nil)

  /// Sets the document below which the collections of all models and objects are from now on. With nil, which
  /// is the default, the collections are at the root of the default database.
  ///
  /// ```swift
  /// BallcapApp.configure(Firestore.firestore().document("version/1"))
  /// ```
  public class func configure(_ rootReference: DocumentReference? = nil) {
    root.withLock { $0 = rootReference }
  }

  static func collection(_ name: String) -> CollectionReference {
    root.withLock { $0 }?.collection(name) ?? Firestore.firestore().collection(name)
  }
}
