// Checks of a session, which tests make after each event.

extension ChannelClient {
  /// Stops the program if the session contradicts itself.
  func checkInvariants() {
    let isIdle = phase == .idle || phase == .over
    precondition(!isIdle || forward.request == nil && forward.retry == nil, "a session without use sends")
    precondition(phase == .open || back.request == nil && back.retry == nil, "a back channel has no session")
    precondition(phase != .open || back.request != nil || back.retry != nil, "no back channel follows")
    precondition(back.request == nil || back.watch != nil, "the silence of a back channel has no end")
    precondition(
      isIdle || forward.batch == nil || forward.request != nil || forward.retry != nil,
      "messages wait for a request that does not come")
    precondition(phase != .open || forward.batch != nil || line.isEmpty, "messages wait for nothing")
  }
}
