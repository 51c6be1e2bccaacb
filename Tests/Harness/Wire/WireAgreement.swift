// The properties of the two encodings of a message, for any bytes.

import FirestoreWire

/// Decodes bytes as a message, and compares all ways from the message to bytes and back.
enum WireAgreement {
  enum Form: Sendable { case protobuf, json }

  /// Returns a description of the outcome, without numbers.
  static func check<Message: WireMessage>(
    _ input: [UInt8], as type: Message.Type, _ form: Form
  ) throws(FuzzFinding) -> String {
    let message: Message
    do throws(WireError) {
      message = form == .protobuf ? try Message(protobuf: input) : try Message(json: input)
    } catch {
      return "refused: \(try Self.kind(of: error))"
    }
    let name = "\(Message.self)"
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
    do throws(WireError) {
      bytes = form == .protobuf ? try message.protobuf() : try message.json()
    } catch {
      return "not written: \(try Self.kind(of: error))"
    }
    do throws(WireError) {
      let again = form == .protobuf ? try Message(protobuf: bytes) : try Message(json: bytes)
      guard isSame(again, message) else {
        throw WireError("\(name) changes as \(form)")
      }
      let bytesAgain = form == .protobuf ? try again.protobuf() : try again.json()
      guard bytesAgain.count == bytes.count else { throw WireError("the \(form) of \(name) is not stable") }
    } catch {
      throw FuzzFinding("\(name), written as \(form): \(error)")
    }
    return "written"
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

  /// Messages with NaN are equal if their bytes are.
  private static func isSame<Message: WireMessage>(_ left: Message, _ right: Message) -> Bool {
    left == right || (try? left.protobuf()) == (try? right.protobuf())
  }
}
