// The resume token of the loopback authority:
//
//   resume token := store:u128 position:u64 time:u64      little-endian
//
// It names a position in the change feed of one store, and the time of the commit at that position. The time
// is 0 if the feed was empty, or if the issuing server did not know the time. In the latter case no other
// server accepts the token. The time detects a restored store, which has other commits at equal positions.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

struct LoopbackResumeToken: Equatable {
  let store: RandomID
  let position: FeedPosition
  let time: Int64

  init(store: RandomID, position: FeedPosition, time: Int64) {
    self.store = store
    self.position = position
    self.time = time
  }

  /// Returns nil if the bytes are not a valid token.
  init?(_ token: [UInt8]) {
    var reader = ByteReader(token.rawSpan)
    guard let store = reader.randomID(), let position = reader.uint64(), let time = reader.uint64(),
      reader.bytesLeft == 0
    else { return nil }
    self.init(store: store, position: FeedPosition(position), time: Int64(bitPattern: time))
  }

  var token: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(store)
    bytes.append(littleEndian: position.value)
    bytes.append(littleEndian: time)
    return bytes
  }
}
