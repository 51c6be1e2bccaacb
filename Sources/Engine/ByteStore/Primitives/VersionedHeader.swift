// Decoding of headers. It distinguishes a corrupted version number from the version of a newer release.

/// A header, or a whole file, that begins with a signature and ends with a checksum.
package protocol VersionedHeader {
  static var signature: FileSignature { get }

  init(decoding page: RawSpan, file: String) throws(ByteStoreError)
}

extension VersionedHeader {
  /// Returns the decoded header, the damage, or both. If the version number is too high, the page is decoded
  /// once more as the supported version. If its checksum then matches, the version number is corrupted.
  /// Otherwise a newer release wrote the page, and this throws `newerFormat` instead of reporting damage.
  package static func decode(
    _ page: [UInt8], file: String
  ) throws(ByteStoreError) -> (header: Self?, damage: Damage?) {
    do throws(ByteStoreError) {
      return (try Self(decoding: page.rawSpan, file: file), nil)
    } catch {
      switch error {
      case .corrupted(let damage): return (nil, damage)
      case .newerFormat(_, let found, let supported):
        guard let header = decode(page, file: file, asVersion: supported) else { throw error }
        let damage = Damage(
          file: file, offset: 8, expected: "version \(supported), as the checksum is that of",
          found: "version \(found)")
        return (header, damage)
      default: throw error
      }
    }
  }

  /// Returns the header; throws if there is any damage.
  package static func decodeSound(_ page: [UInt8], file: String) throws(ByteStoreError) -> Self {
    let (header, damage) = try decode(page, file: file)
    guard let header, damage == nil else {
      throw .corrupted(damage ?? Damage(file: file, offset: 0, expected: "a header", found: "none"))
    }
    return header
  }

  private static func decode(_ page: [UInt8], file: String, asVersion version: UInt16) -> Self? {
    guard page.count >= 10 else { return nil }
    var repaired = page
    repaired[8] = UInt8(truncatingIfNeeded: version)
    repaired[9] = UInt8(truncatingIfNeeded: version >> 8)
    return try? Self(decoding: repaired.rawSpan, file: file)
  }
}
