// Tokens of an emulator. They prove nothing: every client can say who it is.
//
//   token := base64url(header) "." base64url(claims) "." signature
//
// Header and claims are objects of JSON. The signature is usually empty, and is never checked. Times are not
// checked either, so a token of a test never expires.

internal import ByteStore
internal import FirestoreWire

/// The user of a JSON web token.
struct EmulatorToken {
  private static let bytesMax = 8 * 1024

  /// Nil if the claims name no user.
  let user: String?

  /// Parses a token. Nil if the text is no token.
  init?(_ text: some Collection<UInt8>) {
    guard text.count <= Self.bytesMax else { return nil }
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0], user: false),
      let claims = Self.object(parts[1], user: true), header.isObject, claims.isObject
    else { return nil }
    user = claims.user
  }

  private struct Claims {
    var isObject = false
    var user: String?
  }

  /// Reads the fields of an encoded object. Nil if it is malformed, or a user is not a text.
  private static func object(_ text: some Collection<UInt8>, user readsUser: Bool) -> Claims? {
    guard !text.isEmpty, let json = Base64.decode(Array(text)) else { return nil }
    var claims = Claims()
    var other: String?
    do throws(WireError) {
      var reader = try JSONReader(json.rawSpan)
      guard try reader.kind() == .object else { return nil }
      claims.isObject = true
      var key = try reader.beginObject()
      while let name = key {
        switch name {
        case "sub" where readsUser: claims.user = try reader.string()
        case "user_id" where readsUser: other = try reader.string()
        default: try reader.skip()
        }
        key = try reader.nextKey()
      }
      try reader.finish()
    } catch {
      return nil
    }
    claims.user = claims.user ?? other
    return claims
  }
}
