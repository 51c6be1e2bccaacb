// The kinds of files that the layers above have cases for, as text for servers and as the end of a name.

/// An enumeration of a layer. Besides these it has cases that carry what they are.
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
}

extension FileKind {
  /// The first kind with an extension is the one that the extension says.
  private static var table: [(kind: Self, text: String, fileExtension: String)] {
    [
      (.plain, "text/plain", "txt"), (.csv, "text/csv", "csv"), (.html, "text/html", "html"),
      (.css, "text/css", "css"), (.javascript, "text/javascript", "js"), (.pdf, "application/pdf", "pdf"),
      (.zip, "application/zip", "zip"), (.tar, "application/x-tar", "tar"),
      (.lzh, "application/x-lzh", "lzh"), (.jpeg, "image/jpeg", "jpg"), (.pjpeg, "image/pjpeg", "jpg"),
      (.png, "image/png", "png"), (.gif, "image/gif", "gif"), (.mp4, "video/mp4", "mp4"),
    ]
  }

  /// Of bytes of no known kind.
  package static var unknownText: String { ContentTypes.unknown }

  /// Nil for the kinds that carry what they are.
  package var knownText: String? { Self.table.first { $0.kind == self }?.text }

  package var knownExtension: String? { Self.table.first { $0.kind == self }?.fileExtension }

  package static func known(text: String) -> Self? { table.first { $0.text == text }?.kind }

  package static func known(fileExtension: String) -> Self? {
    table.first { $0.fileExtension == fileExtension }?.kind
  }
}
