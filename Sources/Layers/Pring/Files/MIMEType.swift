// Content types of files, with their file extensions.

public import LayerKit

extension File {
  /// A content type with a file extension.
  public enum MIMEType: Sendable {
    /// Text.
    case plain
    /// Comma-separated values.
    case csv
    /// An HTML page.
    case html
    /// A style sheet.
    case css
    /// A script.
    case javascript
    /// Bytes of an unknown type, with the extension of the name.
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
    /// A video in MP4.
    case mp4
    /// Any content type, with a file extension.
    case custom(String, String)
  }
}

extension File.MIMEType: FileKind {
  package var carried: (text: String, fileExtension: String)? {
    switch self {
    case .octetStream(let fileExtension): (Self.unknownText, fileExtension)
    case .custom(let value, let fileExtension): (value, fileExtension)
    default: nil
    }
  }

  var rawValue: String { text }

  var fileExtension: String { textExtension }

  init?(rawValue: String, ext: String) {
    guard !rawValue.isEmpty else { return nil }
    if rawValue == Self.unknownText {
      self = .octetStream(ext)
    } else {
      self = Self.known(text: rawValue) ?? .custom(rawValue, ext)
    }
  }
}
