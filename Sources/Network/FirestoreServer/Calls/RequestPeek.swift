// Looks into an encoded request before it is decoded, for the log.

internal import ByteStore
internal import FirestoreWire

enum RequestPeek {
  private static let nameField = ProtobufTag(1, .length)

  /// The database that a request names in its first field. Nil if that field is something else, or the
  /// request is malformed.
  static func database(in request: [UInt8]) -> DatabaseName? {
    do throws(WireError) {
      var reader = try ProtobufReader(request.rawSpan)
      guard try reader.tag() == nameField else { return nil }
      return database(try reader.string())
    } catch {
      return nil
    }
  }

  /// The database of a name, as in `projects/p/databases/d/documents/rooms`.
  static func database(_ name: String) -> DatabaseName? {
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].elementsEqual("projects".utf8), parts[2].elementsEqual("databases".utf8)
    else { return nil }
    return DatabaseName(projectID: String(Substring(parts[1])), databaseID: String(Substring(parts[3])))
  }
}
