// The token with which a client resumes a target:
//
//   token := format:u8=1 store:u128 life:u64 position:u64 time:i64 mac:16        little-endian
//
// It names a position in the change feed of one life of a store, and the time up to which the client has all
// commits. `mac` authenticates all bytes before it (TokenKey.swift).

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

struct ResumeToken: Equatable {
  private static let format: UInt8 = 1

  let store: RandomID
  let life: UInt64
  let position: FeedPosition
  let time: SnapshotVersion

  func bytes(_ key: TokenKey) -> [UInt8] {
    let message = message
    return message + key.mac(of: message)
  }

  private var message: [UInt8] {
    var bytes: [UInt8] = [Self.format]
    bytes.reserveCapacity(64)
    bytes.append(store)
    bytes.append(littleEndian: life)
    bytes.append(littleEndian: position.value)
    bytes.append(littleEndian: time.microseconds)
    return bytes
  }

  /// Reads a token. Returns nil if the bytes have another form.
  static func parse(_ bytes: [UInt8]) -> (token: ResumeToken, mac: [UInt8])? {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.uint8() == format, let store = reader.randomID(), let life = reader.uint64(),
      let position = reader.uint64(), let time = reader.uint64(), let mac = reader.array(TokenKey.macBytes),
      reader.bytesLeft == 0
    else { return nil }
    let token = ResumeToken(
      store: store, life: life, position: FeedPosition(position),
      time: SnapshotVersion(microseconds: Int64(bitPattern: time)))
    return (token, mac)
  }

  func isAuthentic(_ mac: [UInt8], _ key: TokenKey) -> Bool { key.isValid(mac, of: message) }
}
