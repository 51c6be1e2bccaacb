// What kind of bytes a file has, as text for servers and as the end of a name.

public import LayerKit

extension File {
  /// A kind of file. An extension that is not said and an empty one are the same.
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
    /// A film in MP4.
    case mp4
    /// The kind and the extension.
    case custom(String, String)
  }
}

extension File.MIMEType: FileKind {
  /// As in a header of HTTP.
  public var rawValue: String { text }

  /// What names of such files end with, without the dot.
  public var fileExtension: String { textExtension }

  package var carried: (text: String, fileExtension: String)? {
    switch self {
    case .octetStream(let fileExtension): (Self.unknownText, fileExtension ?? "")
    case .custom(let value, let fileExtension): (value, fileExtension)
    default: nil
    }
  }

  /// With the extension of a name where it has none of its own: all that a document knows of it is the name.
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

/// Stored as the raw value; files find the extension in their name.
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
