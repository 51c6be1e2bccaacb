// The content type of a file, as text for servers and as a file extension.

public import LayerKit

extension File {
  /// A content type. A missing extension equals an empty extension.
  public enum MIMEType: Sendable {
    /// Text.
    case plain
    /// Comma-separated values.
    case csv
    /// An HTML page.
    case html
    /// A style sheet.
    case css
    /// JavaScript.
    case javascript
    /// Bytes of unknown type, with the file extension.
    case octetStream(String?)
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
    /// A MIME type and a file extension.
    case custom(String, String)
  }
}

extension File.MIMEType: FileKind {
  /// The MIME type, as in an HTTP header.
  public var rawValue: String { text }

  /// The file extension of this type, without the dot.
  public var fileExtension: String { textExtension }

  package var carried: (text: String, fileExtension: String)? {
    switch self {
    case .octetStream(let fileExtension): (Self.unknownText, fileExtension ?? "")
    case .custom(let value, let fileExtension): (value, fileExtension)
    default: nil
    }
  }

  /// Returns this type. If the type has no extension, the result has the extension of a file name. A document
  /// stores only the text of the type, so the extension comes from the name.
  func named(_ found: String?) -> Self {
    guard let found, fileExtension.isEmpty else { return self }
    return switch self {
    case .octetStream: .octetStream(found)
    case .custom(let value, _): .custom(value, found)
    default: self
    }
  }

  init?(rawValue: String, ext: String? = nil) {
    if rawValue == Self.unknownText {
      self = .octetStream(ext ?? "")
    } else {
      self = Self.known(text: rawValue) ?? .custom(rawValue, ext ?? "")
    }
  }

  init?(ext: String) {
    let known = ext == "jpeg" ? .jpeg : Self.known(fileExtension: ext)
    self = known ?? .custom("", ext)
  }
}

extension File.MIMEType: Equatable {
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.octetStream(let left), .octetStream(let right)): (left ?? "") == (right ?? "")
    case (.custom(let left, let leftExtension), .custom(let right, let rightExtension)):
      left == right && leftExtension == rightExtension
    case (.plain, .plain), (.csv, .csv), (.html, .html), (.css, .css), (.javascript, .javascript),
      (.pdf, .pdf), (.zip, .zip), (.tar, .tar), (.lzh, .lzh), (.jpeg, .jpeg), (.pjpeg, .pjpeg),
      (.png, .png), (.gif, .gif), (.mp4, .mp4):
      true
    default: false
    }
  }
}

/// Encodes the raw value only. A file gets the extension from its name.
extension File.MIMEType: Codable {
  public init(from decoder: any Decoder) throws {
    let rawValue = try decoder.singleValueContainer().decode(String.self)
    self = Self(rawValue: rawValue) ?? .custom(rawValue, "")
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
