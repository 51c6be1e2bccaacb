// Files as the object that has them sees them.

import FirebaseStorage

/// A file of a property.
protocol OwnedFile: AnyObject {
  var isDeleted: Bool { get }
  /// The name of the property.
  var key: String? { get }
  func setParent(_ object: Object, forKey key: String)
  /// Uploads the file. Returns nil if there is nothing to upload.
  func save(
    _ key: String, completion: @escaping (StorageMetadata?, (any Error)?) -> Void
  ) -> StorageUploadTask?
}

/// The value of a property that is a file, may be a file, or has files.
protocol FileForm: FieldForm {
  var files: [any OwnedFile] { get }
  /// Whether only a deletion mark is left.
  var isDeleted: Bool { get }
  /// The value without the files that are marked as deleted; nil if the property can be nil.
  var withoutDeleted: Any? { get }
}

/// The note of a property that has files.
protocol FileNote {
  var files: [any OwnedFile] { get }
}
