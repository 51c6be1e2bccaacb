// Calls over WebChannel and a scripted transport: the bytes that hold back an answer.

import FirestoreRemote
import HTTPClient
import Harness
import OfflineSync
import Testing

@Suite struct WebChannelTests {
  private let scheduler = VirtualScheduler()
  private let transport = ScriptedTransport()
  private let events = Events<MessageEvent>()

  private func framed(_ text: String) -> String { "\(text.utf16.count)\n\(text)" }

  private func play() { scheduler.play(for: 0) }

  /// An open call and its back channel.
  private func opened() throws -> (channel: any MessageChannel, back: ScriptedExchange) {
    let channels = WebChannels(transport, database: "projects/p/databases/d", scheduler: scheduler)
    let channel = channels.open("Listen", fields: []) { [events] in events.add($0) }
    channel.send(Array("{}".utf8))
    play()
    transport.all[0].answer(framed(#"[[0,["c","sid",null,8,12,30000]]]"#))
    play()
    return (channel, try #require(transport.all.last { $0.request.method == "GET" }))
  }

  @Test func bytesHoldBackTheAnswerUntilTheSchedulerHasProcessedThem() throws {
    let (channel, back) = try opened()
    #expect(transport.all[0].takenPieces.count == framed(#"[[0,["c","sid",null,8,12,30000]]]"#).utf8.count)
    let pieces = [framed(#"[[1,[{"a":1}]]]"#), "15", "\n[[2,[{\"a\":2}]]]"]
    for piece in pieces { back.deliver(piece) }
    #expect(back.takenPieces.isEmpty)
    play()
    #expect(events.all == [1, 2].map { .message(Array("{\"a\":\($0)}".utf8)) })
    #expect(back.takenPieces == pieces.map(\.utf8.count))
    channel.close()
  }

  @Test func aPauseHoldsBackTheAnswer() throws {
    let (channel, back) = try opened()
    channel.pause()
    play()
    let pieces = (1...3).map { framed("[[\($0),[{}]]]") }
    for piece in pieces { back.deliver(piece) }
    play()
    // Messages that were on their way arrive.
    #expect(events.all.count == 3)
    #expect(back.takenPieces.isEmpty)
    channel.resume()
    play()
    #expect(back.takenPieces == pieces.map(\.utf8.count))
    back.deliver("1")
    play()
    #expect(back.takenPieces.last == 1)
    channel.close()
  }

  /// The page of a proxy is cut after 64 KiB, and its bytes are taken until then.
  @Test func bytesThatAreDroppedHoldBackNothing() throws {
    let (channel, back) = try opened()
    back.deliver(status: 502, "<html>", String(repeating: "a", count: 1000))
    play()
    #expect(back.takenPieces == [6, 1000])
    back.deliver(status: 502, String(repeating: "a", count: 65 << 10))
    play()
    #expect(back.isCancelled)
    channel.close()
  }
}
