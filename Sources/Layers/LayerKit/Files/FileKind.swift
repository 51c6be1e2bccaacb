// The file kinds that the layers share, with their content types and file extensions.

private import FirebaseStorage

/// An enumeration of file kinds. The cases beyond the shared kinds carry their own content type or extension.
package protocol FileKind: Equatable {
  static var plain: Self { get }
  static var csv: Self { get }
  static var html: Self { get }
  static var css: Self { get }
  static var javascript: Self { get }
  static var pdf: Self { get }
  static var zip: Self { get }
  static var tar: Self { get }
  static var lzh: Self { get }
  static var jpeg: Self { get }
  static var pjpeg: Self { get }
  static var png: Self { get }
  static var gif: Self { get }
  static var mp4: Self { get }

  /// The content type and the extension of a case that carries its own values; nil for a known kind.
  var carried: (text: String, fileExtension: String)? { get }
}

extension FileKind {
  /// The kinds and their extensions. If two kinds have the same extension, a lookup by extension returns the
  /// first kind.
  private static var kinds: [(kind: Self, fileExtension: String)] {
    [
      (.plain, "txt"), (.csv, "csv"), (.html, "html"), (.css, "css"), (.javascript, "js"), (.pdf, "pdf"),
      (.zip, "zip"), (.tar, "tar"), (.lzh, "lzh"), (.jpeg, "jpg"), (.pjpeg, "jpg"), (.png, "png"),
      (.gif, "gif"), (.mp4, "mp4"),
    ]
  }

  /// The content type for bytes of unknown kind.
  package static var unknownText: String { ContentTypes.unknown }

  package var text: String { carried?.text ?? knownText ?? "" }

  package var textExtension: String { carried?.fileExtension ?? knownExtension ?? "" }

  private var knownText: String? {
    switch self {
    case .lzh: ContentTypes.lzh
    case .pjpeg: ContentTypes.progressiveJPEG
    default: knownExtension.flatMap(ContentTypes.type(ofExtension:))
    }
  }

  private var knownExtension: String? { Self.kinds.first { $0.kind == self }?.fileExtension }

  package static func known(text: String) -> Self? { kinds.first { $0.kind.knownText == text }?.kind }

  package static func known(fileExtension: String) -> Self? {
    kinds.first { $0.fileExtension == fileExtension }?.kind
  }
}
