// The table of content types (MIME types) by file extension.

package enum ContentTypes {
  package static let unknown = "application/octet-stream"

  /// Types that the table does not assign to any file extension.
  package static let progressiveJPEG = "image/pjpeg"
  package static let lzh = "application/x-lzh"

  /// Returns the type for the extension of a name. The case of the extension does not matter.
  static func type(ofFile name: String) -> String {
    fileExtension(of: name).flatMap { type(ofExtension: $0.lowercased()) } ?? unknown
  }

  /// Returns the type for a lower-case extension. Returns nil if the extension is not in the table.
  package static func type(ofExtension fileExtension: String) -> String? { types[fileExtension] }

  /// Returns the part of a name after its last dot. Returns nil if the last dot is the first or the last
  /// character.
  package static func fileExtension(of name: some StringProtocol) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    let found = name[name.index(after: dot)...]
    return found.isEmpty ? nil : String(found)
  }

  private static let types: [String: String] = [
    // Text
    "txt": "text/plain", "text": "text/plain", "log": "text/plain", "md": "text/markdown",
    "csv": "text/csv", "tsv": "text/tab-separated-values", "html": "text/html", "htm": "text/html",
    "css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "ics": "text/calendar",
    "vcf": "text/vcard", "swift": "text/x-swift", "yaml": "application/yaml", "yml": "application/yaml",
    // Data
    "json": "application/json", "xml": "application/xml", "plist": "application/x-plist",
    "pdf": "application/pdf", "rtf": "application/rtf", "wasm": "application/wasm",
    "sqlite": "application/vnd.sqlite3", "epub": "application/epub+zip",
    // Archives
    "zip": "application/zip", "gz": "application/gzip", "tgz": "application/gzip", "tar": "application/x-tar",
    "bz2": "application/x-bzip2", "xz": "application/x-xz", "7z": "application/x-7z-compressed",
    "zst": "application/zstd", "rar": "application/vnd.rar",
    // Pictures
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "jpe": "image/jpeg", "png": "image/png", "gif": "image/gif",
    "webp": "image/webp", "heic": "image/heic", "heif": "image/heif", "avif": "image/avif",
    "tif": "image/tiff", "tiff": "image/tiff", "bmp": "image/bmp", "svg": "image/svg+xml",
    "ico": "image/vnd.microsoft.icon", "dng": "image/x-adobe-dng", "psd": "image/vnd.adobe.photoshop",
    // Sound
    "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "wav": "audio/wav", "flac": "audio/flac",
    "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/opus", "aif": "audio/aiff", "aiff": "audio/aiff",
    "caf": "audio/x-caf", "mid": "audio/midi", "midi": "audio/midi",
    // Films
    "mp4": "video/mp4", "m4v": "video/x-m4v", "mov": "video/quicktime", "qt": "video/quicktime",
    "webm": "video/webm", "mkv": "video/x-matroska", "avi": "video/x-msvideo", "mpg": "video/mpeg",
    "mpeg": "video/mpeg", "3gp": "video/3gpp", "ogv": "video/ogg", "ts": "video/mp2t",
    // Documents
    "doc": "application/msword", "xls": "application/vnd.ms-excel", "ppt": "application/vnd.ms-powerpoint",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text", "ods": "application/vnd.oasis.opendocument.spreadsheet",
    // Fonts and models
    "ttf": "font/ttf", "otf": "font/otf", "woff": "font/woff", "woff2": "font/woff2",
    "usdz": "model/vnd.usdz+zip", "glb": "model/gltf-binary", "gltf": "model/gltf+json",
  ]
}
