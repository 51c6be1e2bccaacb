// Checks of a session, which tests make after each event.

extension ChannelSession {
  /// Stops the program if the session contradicts itself.
  func checkInvariants() {
    if let channel = backChannel {
      precondition(phase != .over, "a session that is over has a back channel")
      precondition(channel.sent >= arrays.acknowledged, "the back channel is behind its acknowledgement")
      precondition(channel.sent <= arrays.last, "the back channel has sent arrays that do not exist")
      precondition(!channel.isPolling || channel.sent == arrays.last, "a client waits for arrays that exist")
      precondition(!channel.isFull(limits), "a full back channel goes on")
      precondition(
        channel.isPolling || channel.sent == arrays.last || channel.isAskedWhenRead,
        "nothing continues the back channel")
      precondition(!isPaused || channel.sent < arrays.last, "nothing ends the pause of the call")
    }
    precondition(phase != .ended || arrays.count > 0, "the end of the session was acknowledged")
    precondition(line.earlyCount <= limits.earlyRequestsMax, "too many requests wait")
    precondition(phase != .over || heldBytes == 0, "a session that is over holds memory")
  }
}
