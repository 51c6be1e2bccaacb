// The state machine of transfers in isolation.

import FirebaseStorage
import Testing

struct TransferMachineTests {
  private func machine(_ events: [TransferMachine.Event], upload: Bool = true) -> TransferMachine {
    var machine = TransferMachine(pausesAtOnce: upload)
    for event in events { _ = machine.handle(event) }
    return machine
  }

  @Test func aTransferPassesThroughItsStatesInOrder() {
    var machine = TransferMachine(pausesAtOnce: true)
    #expect(machine.handle(.enqueue) == [.run])
    #expect(machine.handle(.start) == [])
    #expect(machine.handle(.progress) == [.fire(.progress)])
    #expect(machine.handle(.complete) == [])
    #expect(machine.handle(.succeed) == [.fire(.progress), .fire(.success)])
    #expect(machine.state == .success)
  }

  @Test func uploadsPauseAtOnceAndDownloadsAfterTheyStopped() {
    var upload = machine([.enqueue, .start])
    #expect(upload.handle(.pause) == [.fire(.pause)])
    #expect(upload.state == .paused)
    #expect(upload.handle(.pause) == nil)
    var download = machine([.enqueue, .start], upload: false)
    #expect(download.handle(.pause) == [])
    #expect(download.state == .pausing)
    #expect(download.handle(.stop) == [.fire(.pause)])
    #expect(download.state == .paused)
  }

  @Test func resumingNotifiesAndRestarts() {
    var paused = machine([.enqueue, .start, .pause])
    #expect(paused.handle(.resume) == [.fire(.resume), .run])
    #expect(paused.handle(.resume) == nil)
    var running = machine([.enqueue, .start])
    #expect(running.handle(.resume) == nil)
  }

  @Test func endedTransfersIgnoreAllEvents() {
    let over: [TransferMachine] = [
      machine([.enqueue, .start, .complete, .succeed]), machine([.enqueue, .fail]),
      machine([.enqueue, .cancel]),
    ]
    var wrong: [String] = []
    for ended in over {
      for event in TransferMachine.Event.allCases {
        var machine = ended
        if machine.handle(event) != nil { wrong.append("\(ended.state) took \(event)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func cancellingWorksInAnyStateBeforeTheObjectIsCreated() {
    var wrong: [String] = []
    for events: [TransferMachine.Event] in [[], [.enqueue], [.enqueue, .start], [.enqueue, .start, .pause]] {
      var machine = machine(events)
      let effects = machine.handle(.cancel)
      if effects != [.fire(.failure), .cleanUp] {
        wrong.append("\(events): \(String(describing: effects))")
      }
    }
    #expect(wrong == [])
    var completing = machine([.enqueue, .start, .complete])
    #expect(completing.handle(.cancel) == nil)
  }

  /// Every sequence of four events causes at most one end.
  @Test func noEventSequenceEndsATransferTwice() {
    let events = TransferMachine.Event.allCases
    var wrong: [String] = []
    for upload in [true, false] {
      for first in 0..<events.count * events.count * events.count * events.count {
        var machine = TransferMachine(pausesAtOnce: upload)
        var ends = 0
        var rest = first
        for _ in 0..<4 {
          let effects = machine.handle(events[rest % events.count]) ?? []
          rest /= events.count
          ends += effects.count { $0 == .fire(.success) || $0 == .fire(.failure) }
        }
        if ends != (machine.isOver ? 1 : 0) {
          wrong.append("\(upload), \(first): ended \(ends) times, over: \(machine.isOver)")
        }
      }
    }
    #expect(wrong == [])
  }
}
