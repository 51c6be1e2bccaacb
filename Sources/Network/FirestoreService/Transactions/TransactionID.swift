// The ids of transactions:
//
//   id := 0x11 random:u128
//
// An id is a secret: the user who began the transaction can use it with the id alone.

internal import ByteStore
internal import OfflineSync

struct TransactionID: Hashable, Sendable {
  private static let tag: UInt8 = 0x11
  private static let byteCount = 17

  let bytes: [UInt8]

  init(_ random: any RandomSource) {
    var bytes = [Self.tag]
    bytes.append(random.randomID())
    self.bytes = bytes
  }

  /// Throws unless the bytes have the form of an id.
  init(_ bytes: [UInt8]) throws(RemoteError) {
    guard bytes.count == Self.byteCount, bytes.first == Self.tag else {
      throw RemoteError(.invalidArgument, "Invalid transaction.")
    }
    self.bytes = bytes
  }
}
