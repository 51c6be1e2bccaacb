// The trap for misuse of the API, and its replaceable hook.

import FirebaseCore
import Testing

@Suite struct ProgrammerErrorTests {
  @Test func theDefaultHookWritesTheMessageToStandardErrorAndTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ProgrammerError.trap("the ball is out of the park")
    }
    expectMessage("the ball is out of the park", from: result)
  }

  @Test func replacementHookGetsTheMessage() async {
    let result = await #expect(processExitsWith: .exitCode(42), observing: [\.standardErrorContent]) {
      ProgrammerError.hook = { message in exit(message == "strike" ? 42 : 1) }
      ProgrammerError.trap("strike")
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(!said.contains("strike"))
  }

  @Test func theHookMayUseTheHookItReplaces() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let before = ProgrammerError.hook
      ProgrammerError.hook = { message in before("umpire: " + message) }
      ProgrammerError.trap("strike")
    }
    expectMessage("umpire: strike", from: result)
  }

  @Test func theHookMayBeReplacedFromManyThreadsWhileOthersTrap() async {
    await #expect(processExitsWith: .exitCode(42)) {
      DispatchQueue.concurrentPerform(iterations: 100) { index in
        ProgrammerError.hook = { _ in exit(42) }
        if index == 99 { ProgrammerError.trap("strike") }
      }
    }
  }
}
