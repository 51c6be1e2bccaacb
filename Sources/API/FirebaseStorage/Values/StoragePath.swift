// Locations in buckets, with conversion from and to strings and URLs.
//
//   gs://bucket[/object]
//   http[s]://host/v0/b/bucket[/o[/object]][?query]      the object percent-encoded
//
// Repeated slashes in an object's path count as one; slashes at its ends are ignored.

import Foundation

struct StoragePath: Hashable, Sendable {
  let bucket: String
  /// The path of the object. Empty for the bucket itself.
  let object: String

  init(bucket: String, object: String = "") {
    self.bucket = bucket
    self.object = Self.normalized(object)
  }

  /// Parses a URL of either form. Throws `pathError` if the string has neither form.
  init(url: String) throws(StorageError) {
    if url.hasPrefix("gs://") {
      try self.init(gsURL: url)
    } else if url.hasPrefix("http://") || url.hasPrefix("https://") {
      try self.init(webURL: url)
    } else {
      throw .pathError(message: "Scheme should be one of: gs, http, or https, and it is not in \(url).")
    }
  }

  private init(gsURL url: String) throws(StorageError) {
    let rest = url.dropFirst("gs://".count)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    guard slash > rest.startIndex else {
      throw .pathError(message: "A bucket has to follow gs://, and none does in \(url).")
    }
    self.init(bucket: try Self.checked(String(rest[..<slash]), url), object: String(rest[slash...]))
  }

  private init(webURL url: String) throws(StorageError) {
    let withoutFragment = url.prefix { $0 != "#" }
    let path = withoutFragment.prefix { $0 != "?" }
    // The parts are: scheme, "", host, v0, b, bucket, o, object.
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count >= 6, !parts[2].isEmpty, parts[3] == "v0", parts[4] == "b", !parts[5].isEmpty,
      parts.count == 6 || parts[6] == "o" || (parts[6].isEmpty && parts.count == 7)
    else {
      throw .pathError(message: "A storage URL has the form http[s]://<host>/v0/b/<bucket>/o/<path>: \(url)")
    }
    let encoded = parts.dropFirst(7).joined(separator: "/")
    guard let object = encoded.removingPercentEncoding, let bucket = String(parts[5]).removingPercentEncoding
    else { throw .pathError(message: "The path is not correctly percent-encoded in \(url).") }
    self.init(bucket: try Self.checked(bucket, url), object: object)
  }

  private static let bucketBytesMax = 222

  private static func checked(_ bucket: String, _ url: String) throws(StorageError) -> String {
    let bytes = bucket.utf8
    guard (1...bucketBytesMax).contains(bytes.count), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else {
      throw .pathError(
        message:
          "A bucket's name has 1 to \(bucketBytesMax) bytes and no control characters, unlike that in \(url)."
      )
    }
    return bucket
  }

  private static func normalized(_ path: String) -> String {
    // Split the UTF-8 bytes and not the characters: a slash and a combining mark after it form one character,
    // but the slash still separates components.
    path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.joined(separator: "/")
  }

  // MARK: Navigation

  var root: StoragePath { StoragePath(bucket: bucket) }

  /// The enclosing folder. Nil for the root.
  var parent: StoragePath? {
    guard !object.isEmpty else { return nil }
    let bytes = object.utf8
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return root }
    return StoragePath(bucket: bucket, object: String(Substring(bytes[..<slash])))
  }

  func child(_ path: String) -> StoragePath { StoragePath(bucket: bucket, object: "\(object)/\(path)") }

  /// The last component. Empty for the root.
  var name: String { Self.name(of: object) }

  static func name(of object: String) -> String {
    object.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
  }

  var description: String { "gs://\(bucket)/\(object)" }

  // MARK: Encoding

  /// The characters that are not percent-encoded in a URL path. A slash in an object's name is encoded.
  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$'()*,=:@")

  static func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
  }

  // MARK: Equality

  static func == (left: Self, right: Self) -> Bool {
    left.bucket.utf8.elementsEqual(right.bucket.utf8) && left.object.utf8.elementsEqual(right.object.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for byte in object.utf8 { hasher.combine(byte) }
  }
}
