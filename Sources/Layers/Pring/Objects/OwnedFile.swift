// Protocols through which an object accesses its files.

import FirebaseStorage

/// A file in a property of an object.
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

/// A property value that is a file, an optional file, or an array of files.
protocol FileForm: FieldForm {
  var files: [any OwnedFile] { get }
  /// Whether the value is a file that is marked as deleted.
  var isDeleted: Bool { get }
  /// The value without the files that are marked as deleted; nil if no file is left and the value is not an
  /// array.
  var withoutDeleted: Any? { get }
}

/// The note of a property that contains files.
protocol FileNote {
  var files: [any OwnedFile] { get }
}
