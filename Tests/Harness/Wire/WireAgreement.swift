// The properties of the two encodings of a message, for any bytes.

import FirestoreWire

/// Decodes bytes as a message, and compares all ways from the message to bytes and back.
enum WireAgreement {
  enum Form: Sendable { case protobuf, json }

  /// Returns a description of the outcome, without numbers.
  static func check<Message: WireMessage>(
    _ input: [UInt8], as type: Message.Type, _ form: Form
  ) throws(FuzzFinding) -> String {
    let name = "\(Message.self)"
    var message = Message()
    let failure = try measure(input, name) { () throws(WireError) in message = try decode(input, form) }
    if let failure { return "refused: \(try Self.kind(of: failure))" }
    let protobuf = try again(message, .protobuf, name)
    let json = try again(message, .json, name)
    return "\(form), \(protobuf), \(json)" + (try WireTranslation.check(message))
  }

  /// Encodes and decodes the message. It must be the same then, and have the same bytes when it is encoded
  /// again.
  private static func again<Message: WireMessage>(
    _ message: Message, _ form: Form, _ name: String
  ) throws(FuzzFinding) -> String {
    let bytes: [UInt8]
    do throws(WireError) { bytes = try encode(message, form) } catch {
      return "not written: \(try Self.kind(of: error))"
    }
    do throws(WireError) {
      let again: Message = try decode(bytes, form)
      guard try encode(again, form) == bytes else { throw WireError("the \(form) of \(name) is not stable") }
      guard isSame(again, message) else { throw WireError("\(name) changes as \(form)") }
    } catch {
      throw FuzzFinding("\(name), written as \(form): \(error)")
    }
    return "written"
  }

  private static func encode(_ message: some WireMessage, _ form: Form) throws(WireError) -> [UInt8] {
    form == .protobuf ? try message.protobuf() : try message.json()
  }

  private static func decode<Message: WireMessage>(
    _ bytes: [UInt8], _ form: Form
  ) throws(WireError) -> Message {
    form == .protobuf ? try Message(protobuf: bytes) : try Message(json: bytes)
  }

  /// The bytes that a decoder may allocate: room for the text of an error, and a multiple of its bytes. A
  /// message of two bytes becomes a struct, and an array of them is copied when it grows.
  private static let memoryMin = 1 << 15
  private static let memoryPerByte = 500

  /// Runs a decoder. The memory that it takes must be in proportion to its bytes.
  private static func measure(
    _ input: [UInt8], _ name: String, _ decode: () throws(WireError) -> Void
  ) throws(FuzzFinding) -> WireError? {
    var failure: WireError?
    let taken = AllocatedBytes.during {
      do throws(WireError) { try decode() } catch { failure = error }
    }
    guard taken ?? 0 <= memoryMin + memoryPerByte * input.count else {
      throw FuzzFinding("\(name) of \(input.count) bytes takes \(taken ?? 0) bytes")
    }
    return failure
  }

  /// An error's message goes into a header of the answer, so it must not grow with the input.
  private static let messageBytesMax = 2000

  /// The message of an error without the parts that it quotes from the input.
  private static func kind(of error: WireError) throws(FuzzFinding) -> String {
    guard error.message.utf8.count <= messageBytesMax else {
      throw FuzzFinding("an error has a message of \(error.message.utf8.count) bytes")
    }
    let text = error.message.prefix { $0 != "'" && $0 != "\"" }
    return String(String(text).withoutNumbers.prefix(60))
  }

  /// Whether two messages are the same. Their bytes tell texts apart that are equal as characters, and zeros
  /// of different signs. Only JSON has one form for all NaNs, which the values of documents do not tell
  /// apart.
  private static func isSame<Message: WireMessage>(_ left: Message, _ right: Message) -> Bool {
    guard haveSameBytes(left, right, .json) else { return false }
    return haveSameBytes(left, right, .protobuf) || left == right && hasNaN(left)
  }

  /// Whether two messages have the same bytes, or both cannot be written.
  private static func haveSameBytes(
    _ left: some WireMessage, _ right: some WireMessage, _ form: Form
  ) -> Bool {
    (try? encode(left, form)) == (try? encode(right, form))
  }

  private static func hasNaN(_ message: some WireMessage) -> Bool {
    (try? message.json()).map { String(decoding: $0, as: UTF8.self).contains("\"NaN\"") } ?? false
  }
}
