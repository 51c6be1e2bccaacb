// The modules that programs of tests link.

enum LinkedModules {
  /// The modules of Firestore and Storage, from the engine up.
  static let firebase = [
    "CDigest", "CPortableLZ4", "CFileSystem", "CSanitizer", "Libc", "ByteStore", "StoreTools",
    "DocumentStore", "ObjectStore", "OfflineSync", "Authority", "ObjectSync", "FirestoreWire", "CCurl",
    "HTTPClient", "FirestoreRemote", "FirebaseCore", "FirebaseFirestore", "FirebaseStorage",
  ]
}
