// Calls over sockets of the loopback device, against a server in this process.

#if Server
import ByteStore
import FirestoreRemote
import OfflineSync
import ServerHarness
import Testing

@Suite struct ServedCallTests {
  private static let name = "projects/demo-channel/databases/(default)"
  private static let fields = [WebRequest.Field("Authorization", "Bearer owner")]

  private func channels(_ port: Int, settings: ChannelSettings = ChannelSettings()) -> WebChannels {
    WebChannels(
      URLSessionTransport(host: "127.0.0.1:\(port)", isTLS: false), database: Self.name,
      scheduler: QueueScheduler(label: "calls"), settings: settings)
  }

  private func message(_ text: String) -> [UInt8] {
    Array(text.replacing("DATABASE", with: Self.name).utf8)
  }

  @Test func aWatchStreamBringsWhatAWriteStreamWrites() async throws {
    try await ServedStore.with { served in
      let channels = channels(served.port)
      let watch = CallRecorder()
      let listen = channels.open("Listen", fields: Self.fields) { watch.take($0) }
      listen.send(
        message(
          #"{"database":"DATABASE","addTarget":{"targetId":2,"documents":{"documents":["DATABASE/documents/rooms/é😀"]}}}"#
        ))
      #expect(watch.waitsForText("CURRENT"))
      let answers = CallRecorder()
      let write = channels.open("Write", fields: Self.fields) { answers.take($0) }
      write.send(message(#"{"database":"DATABASE"}"#))
      #expect(answers.waitsForText("streamToken"))
      write.send(
        message(
          #"{"streamToken":"","writes":[{"update":{"name":"DATABASE/documents/rooms/é😀","fields":{"a":{"stringValue":"ü😀"}}}}]}"#
        ))
      #expect(answers.waitsForText("writeResults"))
      #expect(watch.waitsForText("ü😀"))
      #expect(!watch.all.contains { $0.isEnd })
      listen.close()
      write.close()
    }
  }
}
#endif
