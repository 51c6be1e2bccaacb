// Tells a corrupted version number from the version number of a newer release.

/// Decoding of header pages whose version number may be corrupted.
package enum VersionedHeader {
  /// Returns the decoded header, the damage, or both. If a version number is too high, the page is
  /// decoded once more with the supported version. If its checksum then matches, the version number is
  /// corrupted. Otherwise a newer release wrote the page, and it must not be reported as damage.
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

  /// Returns the header, and throws on any damage.
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
