// A call of gRPC as a request of HTTP/2.

/// Reads the messages of one call, and passes them to its handler. Ends the call at its deadline.
package final class GRPCExchange: HTTPBodyReceiver, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: all calls come on the loop, as those of every body receiver.

  private var decoder: GRPCFrameDecoder
  private let response: HTTPResponse
  /// The memory of a message that has not arrived completely. Nil until a large one begins.
  private var share: HeldMemoryShare?
  /// Released at the end of the call.
  private var receiver: (any GRPCReceiver)?
  /// The answer, for its status.
  package let answer: GRPCAnswer

  /// Begins a call of a handler. Called on the loop. A request that is no call of gRPC over HTTP/2 gets an
  /// answer of HTTP, and one with a malformed or expired timeout a status. The handler is not called for
  /// these.
  package init(
    _ request: HTTPRequest, _ response: HTTPResponse, handler: any GRPCHandler, limits: HTTPLimits
  ) {
    decoder = GRPCFrameDecoder(messageBytesMax: limits.messageBytesMax)
    self.response = response
    answer = GRPCAnswer(response)
    if let refusal = HTTPRefusal(request) {
      answer.close()
      response.answer(refusal.status, refusal.fields, body: Array(refusal.text.utf8))
      return
    }
    begin(request, handler)
  }

  /// Whether a request is a call of gRPC with protobuf messages.
  package static func accepts(_ request: HTTPRequest) -> Bool {
    guard let type = request.fields.bytes(of: "content-type") else { return false }
    if isNamed("application/grpc", type) { return true }
    let name = type.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
    return isNamed("application/grpc", name) || isNamed("application/grpc+proto", name)
  }

  /// Whether the bytes are this text, whose letters are in lower case, or with letters in upper case.
  private static func isNamed(_ text: StaticString, _ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      let caseBit: UInt8 = 0x20
      return unsafe zip(text, bytes).allSatisfy { wanted, byte in
        wanted == byte || wanted == byte | caseBit && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      }
    }
  }

  package func receive(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    do throws(GRPCStatus) {
      while !answer.isOver, let receiver, let message = try decoder.next(&rest) { receiver.receive(message) }
    } catch {
      end(error, as: error.code == GRPCStatus.resourceExhaustedCode ? .messageSize : nil)
    }
    guard !answer.isOver else { return dropPartial() }
    guard !holds(decoder.heldCount) else { return }
    end(.resourceExhausted("The server holds too many requests that are not complete."), as: .heldBytes)
  }

  package var isWithinMessage: Bool { decoder.isWithinMessage }

  /// Charges the bytes of an incomplete message to the budget of the connection.
  private func holds(_ byteCount: Int) -> Bool {
    guard share != nil || byteCount >= HeldMemoryShare.stepBytes else { return true }
    let share = share ?? HeldMemoryShare(of: response.budget)
    self.share = share
    return share.resize(to: byteCount)
  }

  package func finish() {
    guard !answer.isOver else { return }
    do throws(GRPCStatus) {
      try decoder.finish()
      receiver?.finish()
    } catch {
      end(error)
    }
  }

  package func cancel() {
    let wasOpen = answer.close()
    let receiver = receiver.take()
    dropPartial()
    if wasOpen { receiver?.cancel() }
  }

  private func begin(_ request: HTTPRequest, _ handler: any GRPCHandler) {
    var call = GRPCRequest(request)
    if let timeout = request.fields.bytes(of: "grpc-timeout") {
      guard let nanoseconds = GRPCTimeout.nanoseconds(timeout) else {
        return answer.end(.internalError("The timeout of the request is malformed."))
      }
      guard nanoseconds > 0 else { return deadlinePassed() }
      call.timeoutNanoseconds = nanoseconds
    }
    receiver = handler.begin(call, answer)
    // The timer keeps this object until it fires or the answer ends.
    if let nanoseconds = call.timeoutNanoseconds {
      answer.startTimer(nanoseconds) { [self] in deadlinePassed() }
    }
  }

  private func dropPartial() {
    decoder.dropPartial()
    share = nil
  }

  private func deadlinePassed() {
    end(.deadlineExceeded("The deadline of the call has passed."), as: .deadline)
  }

  /// Ends the call before the handler does.
  private func end(_ status: GRPCStatus, as refusal: Refusal? = nil) {
    let isFirst = answer.endFirst(status)
    let receiver = receiver.take()
    dropPartial()
    guard isFirst else { return }
    if let refusal { response.refused(refusal, detail: status.message) }
    receiver?.cancel()
  }
}

/// The answer to a request that cannot be a call.
private struct HTTPRefusal {
  let status: Int
  var fields = HTTPFields(["content-type": "text/plain"])
  let text: String

  init?(_ request: HTTPRequest) {
    if request.connection.version < 2 {
      (status, text) = (505, "gRPC needs HTTP/2.\n")
    } else if request.method != "POST" {
      (status, text) = (405, "Calls of gRPC use the method POST.\n")
      fields.append("allow", "POST")
    } else if !GRPCExchange.accepts(request) {
      (status, text) = (415, "The content type has to be application/grpc.\n")
    } else {
      return nil
    }
  }
}
