// A version number that rotted is told from one of a newer release.

/// Header pages of which the version number may have rotted.
package enum VersionedHeader {
  /// What `decode` makes of the page, or what is wrong with it. A version number that is too high is rot if
  /// the page is right with the version that we know: the checksum says so. Otherwise someone newer wrote it,
  /// and nobody may call it damaged.
  package static func decode<Header>(
    _ page: [UInt8], _ path: String, supported: UInt16, _ decode: (RawSpan) throws(ByteStoreError) -> Header
  ) throws(ByteStoreError) -> (header: Header?, damage: Damage?) {
    do throws(ByteStoreError) {
      return (try decode(page.rawSpan), nil)
    } catch {
      switch error {
      case .corrupted(let damage): return (nil, damage)
      case .newerFormat(_, let found, _):
        guard let header = Self.decode(page, asVersion: supported, decode) else { throw error }
        let damage = Damage(
          file: path, offset: 8, expected: "version \(supported), as the checksum is that of",
          found: "version \(found)")
        return (header, damage)
      default: throw error
      }
    }
  }

  /// The header alone, for those who go no further where anything is wrong with it.
  package static func sound<Header>(
    _ page: [UInt8], _ path: String, supported: UInt16, _ decode: (RawSpan) throws(ByteStoreError) -> Header
  ) throws(ByteStoreError) -> Header {
    let (header, damage) = try Self.decode(page, path, supported: supported, decode)
    guard let header, damage == nil else {
      throw .corrupted(damage ?? Damage(file: path, offset: 0, expected: "a header", found: "none"))
    }
    return header
  }

  private static func decode<Header>(
    _ page: [UInt8], asVersion version: UInt16, _ decode: (RawSpan) throws(ByteStoreError) -> Header
  ) -> Header? {
    guard page.count >= 10 else { return nil }
    var repaired = page
    repaired[8] = UInt8(truncatingIfNeeded: version)
    repaired[9] = UInt8(truncatingIfNeeded: version >> 8)
    return try? decode(repaired.rawSpan)
  }
}
