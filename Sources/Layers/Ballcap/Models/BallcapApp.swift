// The document that all collections are below, if an app wants one.

private import ByteStore
public import FirebaseFirestore

/// Where the collections of models and objects are.
public final class BallcapApp: Sendable {
  private static let root = Locked<DocumentReference?>(nil)

  /// From now on, collections that types name are below `rootReference` rather than at the root of the
  /// default database. Nil is how it begins.
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
