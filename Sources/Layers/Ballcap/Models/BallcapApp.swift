// The optional root document of all collections.

private import ByteStore
public import FirebaseFirestore

/// The place of the collections of models and objects.
public final class BallcapApp: Sendable {
  private static let root = Locked<DocumentReference?>(nil)

  /// Places the collections that types name below `rootReference` from now on. With nil, which is the
  /// default, they are at the root of the default database.
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
