// Files as fields of documents, and their comparison.

import Foundation

/// Encodes a file as a map with its path, URL, content type and metadata, without the bytes.
extension File: Codable {
  private enum CodingKeys: String, CodingKey {
    case url
    case path
    case mimeType
    case metadata
  }

  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let path = try container.decode(String.self, forKey: .path)
    let type = try container.decode(String.self, forKey: .mimeType)
    self.init(
      path: path, url: try container.decodeIfPresent(URL.self, forKey: .url),
      mimeType: MIMEType(rawValue: type, ext: Self.fileExtension(of: path)) ?? .custom(type, ""),
      metadata: try container.decodeIfPresent([String: String].self, forKey: .metadata) ?? [:])
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if let url { try container.encode(url, forKey: .url) } else { try container.encodeNil(forKey: .url) }
    try container.encode(path, forKey: .path)
    try container.encode(mimeType, forKey: .mimeType)
    try container.encode(metadata, forKey: .metadata)
  }
}

extension File: Hashable {
  public static func == (left: File, right: File) -> Bool {
    left === right
      || (left.path == right.path && left.mimeType == right.mimeType && left.data == right.data)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(path)
    hasher.combine(data)
  }
}
