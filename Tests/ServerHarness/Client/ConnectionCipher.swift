// The place of TLS in a client.

#if Server
/// Encrypts the bytes of one connection. Used on the thread of the client.
package protocol ConnectionCipher: AnyObject {
  /// Takes bytes of the server. Returns those of the protocol above.
  func receive(_ encrypted: ArraySlice<UInt8>) throws -> [UInt8]
  /// Takes bytes for the server. They may wait for the end of the handshake.
  func send(_ plain: [UInt8]) throws
  /// The bytes that have to be sent now.
  func takeOutput() -> [UInt8]
}
#endif
