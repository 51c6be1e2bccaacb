// What kind of bytes a file has, as text for servers and as the end of a name.

public import FirebaseStorage

extension File {
  public enum MIMEType: Sendable {
    case plain
    case csv
    case html
    case css
    case javascript
    /// Bytes of no known kind, with the extension of the name.
    case octetStream(String)
    case pdf
    case zip
    case tar
    case lzh
    case jpeg
    case pjpeg
    case png
    case gif
    case mp4
    /// The kind and the extension.
    case custom(String, String)
  }
}

extension File.MIMEType: FileKind {
  var rawValue: String {
    switch self {
    case .octetStream: Self.unknownText
    case .custom(let value, _): value
    default: knownText ?? ""
    }
  }

  var fileExtension: String {
    switch self {
    case .octetStream(let fileExtension), .custom(_, let fileExtension): fileExtension
    default: knownExtension ?? ""
    }
  }

  init?(rawValue: String, ext: String) {
    guard !rawValue.isEmpty else { return nil }
    if rawValue == Self.unknownText {
      self = .octetStream(ext)
    } else {
      self = Self.known(text: rawValue) ?? .custom(rawValue, ext)
    }
  }
}
