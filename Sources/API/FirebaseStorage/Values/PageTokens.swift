// Tokens that encode the start of a page of a listing as opaque Base64 text.

import Foundation

/// The form of page tokens.
enum PageTokens {
  /// A token names the first entry of the page.
  case firstEntry
  /// A token names the last entry before the page. Used with a remote.
  case entryBefore

  private static let remoteMark = "r"

  func token(start: String) -> String {
    let mark =
      switch self {
      case .firstEntry: ""
      case .entryBefore: Self.remoteMark
      }
    return Data((mark + start).utf8).base64EncodedString()
  }

  /// Decodes a token. Returns nil for a token that this library did not create.
  func start(of token: String, in path: StoragePath) -> String? {
    guard let data = Data(base64Encoded: token), let start = String(validating: data, as: UTF8.self),
      start.utf8.count <= 1100
    else { return nil }
    switch self {
    case .firstEntry: return start.hasPrefix("=") && !start.contains("/") ? start : nil
    case .entryBefore:
      guard start.utf8.starts(with: Self.remoteMark.utf8) else { return nil }
      let entry = String(decoding: start.utf8.dropFirst(Self.remoteMark.utf8.count), as: UTF8.self)
      return path.object.isEmpty || entry.utf8.starts(with: (path.object + "/").utf8) ? entry : nil
    }
  }
}
