// Up to where a target was told, as clients keep it:
//
//   resume token := store:u128 position:u64 time:u64      little-endian
//
// It is a place in the change feed of one store, and when the commit of that place was made: 0 if the feed had none yet,
// or if who made the mark had not seen it, so that the mark holds for nobody else. A store that was set back has other
// commits at the same places.

internal import ByteStore
internal import DocumentStore

struct LoopbackMark: Equatable {
  let store: RandomID
  let position: FeedPosition
  let time: Int64

  init(store: RandomID, position: FeedPosition, time: Int64) {
    self.store = store
    self.position = position
    self.time = time
  }

  /// Nil for bytes that are no mark.
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
