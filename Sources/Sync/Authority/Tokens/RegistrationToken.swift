// The token that proves when a run of a client's queue was registered:
//
//   token := format:u8=2 store:u128 time:i64 mac:16                              little-endian
//
// `mac` authenticates the bytes before it, and then the user, the queue and the run. A token is therefore of
// use for one run alone:
//
//   message := format store time user queue run:u64
//   user    := 0:u8 | 1:u8 text              no user, or a name
//   queue, text := size:u32 byte{size}

internal import ByteStore
internal import OfflineSync

struct RegistrationToken: Equatable {
  private static let format: UInt8 = 2
  /// No token has more bytes.
  static let bytesMax = 1 + 16 + 8 + TokenKey.macBytes

  let store: RandomID
  /// The time of the commit that registered the run.
  let time: SnapshotVersion

  func bytes(_ run: RunName, _ key: TokenKey) -> [UInt8] { head + key.mac(of: message(run)) }

  func isAuthentic(_ mac: [UInt8], _ run: RunName, key: TokenKey) -> Bool {
    key.isValid(mac, of: message(run))
  }

  private var head: [UInt8] {
    var bytes: [UInt8] = [Self.format]
    bytes.append(store)
    bytes.append(littleEndian: time.microseconds)
    return bytes
  }

  private func message(_ run: RunName) -> [UInt8] {
    var bytes = head
    bytes.append(run.user == nil ? 0 : 1)
    for text in [run.user, run.queue].compactMap(\.self) {
      bytes.append(littleEndian: UInt32(truncatingIfNeeded: text.utf8.count))
      bytes.append(utf8: text)
    }
    bytes.append(littleEndian: run.run.value)
    return bytes
  }

  /// Reads a token. Returns nil if the bytes have another form.
  static func parse(_ bytes: [UInt8]) -> (token: RegistrationToken, mac: [UInt8])? {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.uint8() == format, let store = reader.randomID(), let time = reader.uint64(),
      let mac = reader.array(TokenKey.macBytes), reader.bytesLeft == 0
    else { return nil }
    let version = SnapshotVersion(microseconds: Int64(bitPattern: time))
    return (RegistrationToken(store: store, time: version), mac)
  }
}
