// The metadata of an object: attributes that the caller can set, and attributes that the store determines.

import DocumentStore
public import Foundation
import ObjectStore

/// The metadata of an object.
///
/// `updateMetadata` sends the differences between the current values and the values that were read. A value
/// that was present and is now nil is cleared. A new instance of `StorageMetadata` only sets the values that
/// it contains. Two instances are equal if their dictionary representations are equal.
///
/// While an instance is being changed, no other thread may use it.
open class StorageMetadata: NSObject, NSCopying, @unchecked Sendable {
  // The conformance is unchecked, because existing code passes metadata between threads like a value. The
  // library copies the metadata that it receives, and never changes metadata that it has returned.

  /// The object's bucket; empty while it is unknown.
  public internal(set) var bucket = ""
  /// The full path of the object in its bucket.
  public internal(set) var path: String?
  /// The caching rules for browsers and other caches (`Cache-Control`).
  public var cacheControl: String?
  /// The presentation in a browser (`Content-Disposition`).
  public var contentDisposition: String?
  /// The encoding of the bytes (`Content-Encoding`).
  public var contentEncoding: String?
  /// The language of the content (`Content-Language`).
  public var contentLanguage: String?
  /// The MIME type of the content (`Content-Type`).
  public var contentType: String?
  /// Names and values that the application defines.
  public var customMetadata: [String: String]?
  /// The MD5 hash of the content, in Base64.
  public internal(set) var md5Hash: String?
  /// The version of the content. It increases whenever new content is stored under this name.
  public internal(set) var generation: Int64 = 0
  /// The version of the metadata. It is 1 for new content and increases by 1 with each change of the
  /// metadata.
  public internal(set) var metageneration: Int64 = 0
  /// The size of the content in bytes.
  public internal(set) var size: Int64 = 0
  /// The time when the content was stored.
  public internal(set) var timeCreated: Date?
  /// The time of the last change of the content or the metadata.
  public internal(set) var updated: Date?

  var kind = Kind.unknown
  /// The values that were read from the store. An update sends only the differences from these values.
  private(set) var initial = Settable()

  enum Kind: Sendable { case unknown, file }

  public override init() { super.init() }

  /// Creates metadata from a dictionary with the names and values of the JSON form. Values of a wrong type
  /// are ignored.
  public init(dictionary: [String: AnyHashable]) {
    super.init()
    func text(_ key: Key) -> String? { dictionary[key.rawValue]?.base as? String }
    bucket = text(.bucket) ?? ""
    path = text(.name)
    cacheControl = text(.cacheControl)
    contentDisposition = text(.contentDisposition)
    contentEncoding = text(.contentEncoding)
    contentLanguage = text(.contentLanguage)
    contentType = text(.contentType)
    customMetadata = dictionary[Key.metadata.rawValue]?.base as? [String: String]
    md5Hash = text(.md5Hash)
    generation = Self.integer(dictionary[Key.generation.rawValue])
    metageneration = Self.integer(dictionary[Key.metageneration.rawValue])
    size = Self.integer(dictionary[Key.size.rawValue])
    timeCreated = text(.timeCreated).flatMap(StorageTime.date)
    updated = text(.updated).flatMap(StorageTime.date)
    initial = settable
  }

  /// The last component of the path.
  open var name: String? { path.map(StoragePath.name(of:)) }

  /// Whether the metadata describes a file. False as long as this is unknown.
  open var isFile: Bool { kind == .file }

  /// Always false, because folders are not objects.
  open var isFolder: Bool { false }

  /// Returns the JSON form, without values that are nil or zero.
  open func dictionaryRepresentation() -> [String: AnyHashable] {
    var dictionary: [String: AnyHashable] = [:]
    func set(_ key: Key, _ value: AnyHashable?) { dictionary[key.rawValue] = value }
    set(.bucket, bucket.isEmpty ? nil : bucket)
    set(.name, path)
    set(.cacheControl, cacheControl)
    set(.contentDisposition, contentDisposition)
    set(.contentEncoding, contentEncoding)
    set(.contentLanguage, contentLanguage)
    set(.contentType, contentType)
    set(.metadata, customMetadata)
    set(.md5Hash, md5Hash)
    set(.generation, generation == 0 ? nil : String(generation))
    set(.metageneration, metageneration == 0 ? nil : String(metageneration))
    set(.size, size == 0 ? nil : size)
    set(.timeCreated, timeCreated.map(StorageTime.text))
    set(.updated, updated.map(StorageTime.text))
    return dictionary
  }

  private enum Key: String {
    case bucket, name, cacheControl, contentDisposition, contentEncoding, contentLanguage, contentType,
      metadata
    case md5Hash, generation, metageneration, size, timeCreated, updated
  }

  private static func integer(_ value: AnyHashable?) -> Int64 {
    switch value?.base {
    case let text as String: Int64(text) ?? 0
    case let number as Int: Int64(number)
    case let number as Int64: number
    case let number as any FixedWidthInteger: Int64(clamping: number)
    case let number as NSNumber: number.int64Value
    default: 0
    }
  }

  // MARK: Changes

  /// The values that an update can set.
  struct Settable: Sendable {
    var texts: [WritableText: String] = [:]
    var custom: [String: String]?
  }

  typealias WritableText = ObjectAttributes.TextField

  var settable: Settable {
    var settable = Settable(custom: customMetadata)
    settable.texts[.cacheControl] = cacheControl
    settable.texts[.contentDisposition] = contentDisposition
    settable.texts[.contentEncoding] = contentEncoding
    settable.texts[.contentLanguage] = contentLanguage
    settable.texts[.contentType] = contentType
    return settable
  }

  /// Uses the current values as the baseline for the next update.
  func markUnchanged() { initial = settable }

  // MARK: Values

  public func copy(with zone: NSZone? = nil) -> Any { copied() }

  func copied() -> StorageMetadata {
    let copy = StorageMetadata()
    copy.bucket = bucket
    copy.path = path
    copy.cacheControl = cacheControl
    copy.contentDisposition = contentDisposition
    copy.contentEncoding = contentEncoding
    copy.contentLanguage = contentLanguage
    copy.contentType = contentType
    copy.customMetadata = customMetadata
    copy.md5Hash = md5Hash
    copy.generation = generation
    copy.metageneration = metageneration
    copy.size = size
    copy.timeCreated = timeCreated
    copy.updated = updated
    copy.kind = kind
    copy.initial = initial
    return copy
  }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? StorageMetadata else { return false }
    return dictionaryRepresentation() == other.dictionaryRepresentation()
  }

  open override var hash: Int { dictionaryRepresentation().hashValue }

  open override var description: String { "StorageMetadata \(dictionaryRepresentation())" }
}
