// What kind of bytes a file has, as text for servers and as the end of a name.

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
