// What is known about an object, and what can be said about it.

import DocumentStore
public import Foundation
import ObjectStore

/// The metadata of an object.
///
/// Of those that the store hands out, `updateMetadata` sends what was changed: what was set and is nil now is
/// cleared. A new one sets only what it names. Equal if their dictionaries are.
///
/// Not for several threads at once while it is being changed.
open class StorageMetadata: NSObject, NSCopying, @unchecked Sendable {
  // Unchecked: existing code passes it between threads like a value. We copy what comes in, and what goes out
  // belongs to whoever gets it.

  /// The bucket that the object is in; empty where that is not known yet.
  public internal(set) var bucket = ""
  /// The full path of the object in its bucket.
  public internal(set) var path: String?
  /// How the browser and others may cache it.
  public var cacheControl: String?
  /// How a browser would offer it.
  public var contentDisposition: String?
  /// How the bytes are encoded.
  public var contentEncoding: String?
  /// Which language it is in.
  public var contentLanguage: String?
  /// What kind of bytes they are.
  public var contentType: String?
  /// The application's own, any names and values.
  public var customMetadata: [String: String]?
  /// Of the content, in Base64.
  public internal(set) var md5Hash: String?
  /// Which content it is: grows with every content of the same name.
  public internal(set) var generation: Int64 = 0
  /// Counts the changes of metadata of this content, from 1.
  public internal(set) var metageneration: Int64 = 0
  /// Of the content, in bytes.
  public internal(set) var size: Int64 = 0
  /// When the content was put there.
  public internal(set) var timeCreated: Date?
  /// When the content or the metadata was last changed.
  public internal(set) var updated: Date?

  var kind = Kind.unknown
  /// What an update is compared with.
  private(set) var initial = Settable()

  enum Kind: Sendable { case unknown, file }

  public override init() { super.init() }

  /// By the names of the JSON form. What has another type than it should counts as absent.
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

  /// Whether this is of a file; false where that is not known.
  open var isFile: Bool { kind == .file }

  /// Never true: folders are no objects.
  open var isFolder: Bool { false }

  /// The JSON form, without what is nil or zero.
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

  /// What an update can set.
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

  /// From now on, what is there counts as known.
  func markAsKnown() { initial = settable }

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
