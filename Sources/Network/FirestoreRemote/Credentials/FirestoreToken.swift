// Tokens that go with requests.

internal import FirestoreWire
internal import OfflineSync

/// A token that proves to a server who the user is, or that the app is genuine.
public struct FirestoreToken: Hashable, Sendable {
  /// The maximum size of a token. Servers limit the fields of a request.
  public static let bytesMax = 8 << 10

  /// The text of the token, without "Bearer".
  public var value: String

  /// Creates a token.
  public init(_ value: String) { self.value = value }

  /// Creates the token of a user for an emulator, which checks no signature. Servers refuse it.
  public static func unsigned(for user: String) -> FirestoreToken {
    var writer = JSONWriter()
    writer.beginObject()
    for name in ["sub", "user_id"] {
      writer.key(name)
      writer.string(user)
    }
    writer.endObject()
    let header = Array(#"{"alg":"none","type":"JWT"}"#.utf8)
    return FirestoreToken("\(part(header)).\(part(writer.bytes)).")
  }

  /// The part of a JSON web token with these bytes: Base64 with the alphabet of URLs, without padding.
  private static func part(_ bytes: [UInt8]) -> String {
    let digits = Base64.encode(bytes).filter { $0 != UInt8(ascii: "=") }
    let safe = digits.map { digit in
      switch digit {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: digit
      }
    }
    return String(decoding: safe, as: UTF8.self)
  }

  /// Throws unless the token can be a field of a request. Other bytes could begin another field.
  func check() throws(RemoteError) {
    let count = value.utf8.count
    guard count <= Self.bytesMax else {
      throw RemoteError(.unauthenticated, "A token has \(count) bytes, and the limit is \(Self.bytesMax).")
    }
    guard count > 0, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw RemoteError(.unauthenticated, "A token has other characters than visible ones of ASCII.")
    }
  }
}

extension FirestoreToken: CustomStringConvertible, CustomDebugStringConvertible {
  /// The size of the token, because logs must not contain its text.
  public var description: String { "a token of \(value.utf8.count) bytes" }
  public var debugDescription: String { description }
}
