// What kind of bytes a file has, as text for servers and as the end of a name.

public import LayerKit

extension File {
  /// Kinds of bytes.
  public enum MIMEType: Sendable {
    /// Text.
    case plain
    /// Text in columns with commas.
    case csv
    /// A page.
    case html
    /// A style sheet.
    case css
    /// A script.
    case javascript
    /// Bytes of no known kind, with the extension of the name.
    case octetStream(String)
    /// A document in PDF.
    case pdf
    /// A ZIP archive.
    case zip
    /// A tar archive.
    case tar
    /// An LZH archive.
    case lzh
    /// A picture in JPEG.
    case jpeg
    /// A picture in progressive JPEG.
    case pjpeg
    /// A picture in PNG.
    case png
    /// A picture in GIF.
    case gif
    /// A film in MP4.
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
