// What kind of bytes a file has, as text for servers and as the end of a name.

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

    /// The text and the extension of each kind that has nothing else.
    private var known: (rawValue: String, fileExtension: String)? {
      switch self {
      case .plain: ("text/plain", "txt")
      case .csv: ("text/csv", "csv")
      case .html: ("text/html", "html")
      case .css: ("text/css", "css")
      case .javascript: ("text/javascript", "js")
      case .pdf: ("application/pdf", "pdf")
      case .zip: ("application/zip", "zip")
      case .tar: ("application/x-tar", "tar")
      case .lzh: ("application/x-lzh", "lzh")
      case .jpeg: ("image/jpeg", "jpg")
      case .pjpeg: ("image/pjpeg", "jpg")
      case .png: ("image/png", "png")
      case .gif: ("image/gif", "gif")
      case .mp4: ("video/mp4", "mp4")
      case .octetStream, .custom: nil
      }
    }

    private static let knownTypes: [MIMEType] = [
      .plain, .csv, .html, .css, .javascript, .pdf, .zip, .tar, .lzh, .jpeg, .pjpeg, .png, .gif, .mp4,
    ]

    private static let octetStreamValue = "application/octet-stream"

    var rawValue: String {
      switch self {
      case .octetStream: Self.octetStreamValue
      case .custom(let value, _): value
      default: known?.rawValue ?? ""
      }
    }

    var fileExtension: String {
      switch self {
      case .octetStream(let fileExtension), .custom(_, let fileExtension): fileExtension
      default: known?.fileExtension ?? ""
      }
    }

    init?(rawValue: String, ext: String) {
      guard !rawValue.isEmpty else { return nil }
      if rawValue == Self.octetStreamValue {
        self = .octetStream(ext)
      } else {
        self = Self.knownTypes.first { $0.known?.rawValue == rawValue } ?? .custom(rawValue, ext)
      }
    }
  }
}
