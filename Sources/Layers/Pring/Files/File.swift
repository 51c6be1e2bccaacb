// A file in the storage, described by a property of an object.
//
// A file is new (not uploaded yet), uploaded (it has a download URL), or marked for deletion. The path of a
// file consists of the folder of the object, the name of the property and the name of the file.

private import ByteStore
public import FirebaseStorage
public import Foundation

/// A file as a property of an object.
///
/// ```swift
/// class Member: Object { var picture: File? }
/// let ada = Member()
/// ada.picture = File(data: Data("…".utf8), name: "picture.png", mimeType: .png)
/// try await ada.save()
/// ```
public final class File: NSObject {
  /// The storage reference of the file, in the object's folder and below the property's name. Nil if the file
  /// belongs to no object.
  public var ref: StorageReference? {
    guard let parent, let key else { return nil }
    return parent.storageRef.child(key).child(name)
  }

  /// The content type of the bytes.
  public var mimeType: MIMEType?
  /// The bytes to upload, or the downloaded bytes.
  public var data: Data?
  /// A local file to upload if `data` is nil.
  public var url: URL?
  /// The last part of the path in the bucket.
  public var name: String
  /// The metadata for the upload. After the upload, the metadata that the storage returned.
  public var metadata: StorageMetadata?
  /// Values that the document stores with the description of the file.
  public var additionalData: [String: Any]?

  /// Whether the file was uploaded.
  public var isSaved: Bool { downloadURL != nil }
  /// Whether the next update deletes the file from the storage and from the document.
  public var isDeleted = false
  /// Whether a save uploads the file.
  public var shouldBeSaved: Bool { !isSaved && !isDeleted }

  /// The object that has the property.
  public weak var parent: Object?
  /// The name of the property.
  public var key: String?
  /// The download URL; nil before the upload.
  public internal(set) var downloadURL: URL?

  /// The pending upload; nil if there is none.
  public internal(set) weak var uploadTask: StorageUploadTask?
  /// The pending download; nil if there is none.
  public internal(set) weak var downloadTask: StorageDownloadTask?

  /// Returns a deletion marker. Assign it to a property to delete the property's file with the next update.
  public class func delete() -> File {
    let file = File(name: "")
    file.isDeleted = true
    return file
  }

  /// Creates a file that is stored under this name.
  public init(name: String) { self.name = name }

  /// Creates a file with these bytes. Without a name, the file is named after the current time. A name
  /// without an extension gets the extension of the type.
  public convenience init(data: Data, name: String? = nil, mimeType: MIMEType? = nil) {
    self.init(name: Self.name(name, mimeType))
    self.data = data
    self.mimeType = mimeType
  }

  /// Creates a file with the bytes of a local file.
  public convenience init(url: URL, name: String? = nil, mimeType: MIMEType? = nil) {
    self.init(name: Self.name(name, mimeType))
    self.url = url
    self.mimeType = mimeType
  }

  /// Creates a file from its description in a document; nil if the description has no name.
  init?(property: [String: Any]) {
    guard let name = property["name"] as? String else { return nil }
    self.name = name
    downloadURL = (property["url"] as? String).flatMap { URL(string: $0) }
    mimeType = (property["mimeType"] as? String).flatMap {
      MIMEType(rawValue: $0, ext: ContentTypes.fileExtension(of: name) ?? "")
    }
    additionalData = property["additionalData"] as? [String: Any]
  }

  func setParent(_ object: Object, forKey key: String) {
    parent = object
    self.key = key
  }

  /// The description that is stored in the document.
  public var value: [String: Any] {
    var value: [String: Any] = ["name": name]
    if let downloadURL { value["url"] = downloadURL.absoluteString }
    if let mimeType { value["mimeType"] = mimeType.rawValue }
    if let additionalData { value["additionalData"] = additionalData }
    return value
  }

  public override var description: String {
    let lines = [
      "File {", "  name: \(name)", "  mimeType: \(mimeType?.rawValue ?? "nil")",
      "  url: \(url?.absoluteString ?? "nil")", "  downloadURL: \(downloadURL?.absoluteString ?? "nil")",
      "  additionalData: \(additionalData ?? [:])", "}",
    ]
    return lines.joined(separator: "\n")
  }

  // MARK: Names

  private static func name(_ name: String?, _ type: MIMEType?) -> String {
    let name = name ?? "\(nextTime())"
    guard let type, ContentTypes.fileExtension(of: name) == nil, !type.fileExtension.isEmpty else {
      return name
    }
    return "\(name).\(type.fileExtension)"
  }

  /// Returns the milliseconds since 1970. If that number is not greater than the last result, returns the
  /// last result plus one, so that two files never get the same name.
  private static func nextTime() -> Int {
    lastTime.withLock { last in
      last = max(last + 1, Int(Date().timeIntervalSince1970 * 1000))
      return last
    }
  }

  private static let lastTime = Locked(0)
}

// MARK: As a property

extension File: OwnedFile, FieldForm, FileForm {
  var storedForm: Any? { isDeleted ? nil : value }

  static func local(from stored: Any, current: File?) -> File? {
    (stored as? [String: Any]).flatMap { File(property: $0) }
  }

  static func areSame(_ left: File, _ right: File) -> Bool {
    UntypedForm.areSame(left.storedForm, right.storedForm)
  }

  static var changesInPlace: Bool { true }

  var files: [any OwnedFile] { [self] }
  var withoutDeleted: Any? { isDeleted ? nil : self }
}

extension Optional: FileForm where Wrapped: FileForm {
  var files: [any OwnedFile] { self?.files ?? [] }
  var isDeleted: Bool { self?.isDeleted ?? false }
  var withoutDeleted: Any? { self?.withoutDeleted }
}

extension Array: FileForm where Element: FileForm {
  var files: [any OwnedFile] { flatMap(\.files) }
  var isDeleted: Bool { false }
  var withoutDeleted: Any? { filter { !$0.isDeleted } }
}
