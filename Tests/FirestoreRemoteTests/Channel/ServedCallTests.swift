// Calls over sockets of the loopback device, against a server in this process.

#if Server
import ByteStore
import FirestoreRemote
import HTTPClient
import OfflineSync
import ServerHarness
import Testing

@Suite(.timeLimit(.minutes(5))) struct ServedCallTests {
  private static let name = "projects/demo-channel/databases/(default)"
  private static let fields = [WebRequest.Field("Authorization", "Bearer owner")]

  private static func channels(
    _ port: Int, settings: ChannelSettings = ChannelSettings(),
    disturbance: DisturbedTransport.Disturbance? = nil
  ) -> WebChannels {
    let direct = SystemTransport.make(host: "127.0.0.1:\(port)", isTLS: false)
    let transport: any WebTransport =
      disturbance.map { DisturbedTransport(direct, $0) } ?? direct
    return WebChannels(
      transport, database: name, scheduler: QueueScheduler(label: "calls"), settings: settings)
  }

  private static func message(_ text: String) -> [UInt8] {
    Array(text.replacing("DATABASE", with: name).utf8)
  }

  private static func watch(_ document: String) -> [UInt8] {
    message(
      #"{"database":"DATABASE","addTarget":{"targetId":2,"documents":{"documents":["DATABASE/documents/\#(document)"]}}}"#
    )
  }

  private static func write(_ document: String, _ text: String) -> [UInt8] {
    message(
      #"{"streamToken":"","writes":[{"update":{"name":"DATABASE/documents/\#(document)","fields":{"a":{"stringValue":"\#(text)"}}}}]}"#
    )
  }

  /// Watches a document, and writes it by another call.
  private static func exchange(_ channels: WebChannels, document: String, texts: [String]) {
    let watched = CallRecorder()
    let listen = channels.open("Listen", fields: fields) { watched.take($0) }
    listen.send(watch(document))
    #expect(watched.waitsForText("CURRENT"))
    let written = CallRecorder()
    let writing = channels.open("Write", fields: fields) { written.take($0) }
    writing.send(message(#"{"database":"DATABASE"}"#))
    #expect(written.waitsForText("streamToken"))
    for text in texts {
      writing.send(write(document, text))
      #expect(watched.waitsForText(text))
    }
    #expect(written.waitsForTexts("writeResults", count: texts.count))
    #expect(!watched.all.contains { $0.isEnd } && !written.all.contains { $0.isEnd })
    listen.close()
    writing.close()
  }

  @Test func aWatchStreamBringsWhatAWriteStreamWrites() async throws {
    try await ServedStore.with { served in
      Self.exchange(Self.channels(served.port), document: "rooms/é😀", texts: ["one", "ü😀", "three"])
    }
  }

  @Test func streamsThatAreHeldBackArePolled() async throws {
    try await ServedStore.with { served in
      var settings = ChannelSettings()
      settings.detectionTime = 300_000
      let channels = Self.channels(served.port, settings: settings, disturbance: .buffering)
      Self.exchange(channels, document: "rooms/a", texts: ["one", "two"])
    }
  }

  @Test func answersCanBeCutAfterEachByte() async throws {
    try await ServedStore.with { served in
      var settings = ChannelSettings()
      (settings.delayMin, settings.delayMax) = (1, 1)
      for count in stride(from: 0, to: 700, by: 7) {
        let channels = Self.channels(served.port, settings: settings, disturbance: .cut(after: count))
        Self.exchange(channels, document: "rooms/r\(count)", texts: ["one", "ü😀"])
      }
    }
  }

  @Test func aServerThatShutsDownEndsCalls() async throws {
    let watched = CallRecorder()
    let port = try await ServedStore.with { served in
      let listen = Self.channels(served.port).open("Listen", fields: Self.fields) { watched.take($0) }
      listen.send(Self.watch("rooms/a"))
      #expect(watched.waitsForText("CURRENT"))
      return served.port
    }
    #expect(watched.waitsForEnd())
    guard case .closed(let error) = watched.all.last else { return }
    #expect(error?.code == .unavailable)
    // Nothing listens there any more.
    var settings = ChannelSettings()
    settings.delayMin = 1
    let again = CallRecorder()
    let listen = Self.channels(port, settings: settings).open("Listen", fields: Self.fields) {
      again.take($0)
    }
    listen.send(Self.watch("rooms/a"))
    #expect(again.waitsForEnd())
    guard case .closed(let error) = again.all.last else { return }
    #expect(error?.code == .unavailable)
  }

  @Test func aCallWithoutCredentialsIsRefused() async throws {
    try await ServedStore.with { served in
      let recorder = CallRecorder()
      let listen = Self.channels(served.port).open(
        "Listen", fields: [WebRequest.Field("Authorization", "Bearer wrong")]
      ) { recorder.take($0) }
      listen.send(Self.watch("rooms/a"))
      #expect(recorder.waitsForEnd())
      guard case .closed(let error) = recorder.all.last else { return }
      #expect(error?.code == .invalidArgument || error?.code == .unauthenticated, "\(recorder.all)")
    }
  }

  @Test func closedCallsLeaveNoSession() async throws {
    try await ServedStore.with { served in
      let channels = Self.channels(served.port)
      for count in 0..<30 {
        let recorder = CallRecorder()
        let listen = channels.open("Listen", fields: Self.fields) { recorder.take($0) }
        listen.send(Self.watch("rooms/a"))
        if count % 2 == 0 { #expect(recorder.waitsForText("CURRENT")) }
        listen.close()
      }
      // The limit of sessions of one connection is 10, and is not reached.
      Self.exchange(channels, document: "rooms/a", texts: ["one"])
    }
  }
}
#endif
