// Hosts that an app sets, right and wrong ones.

import Harness
import OfflineSync
import Testing

@testable import FirestoreRemote

@Suite struct HostTests {
  @Test(arguments: [
    ("", "empty"), ("https://shop.example", "https://"), ("shop.example/v1", "\"/\""), ("a b", "\" \""),
    ("shop.example:", "port"), ("shop.example:0", "port"), ("shop.example:99999", "port"),
    ("shop.example:http", "port"), ("user@shop.example", "\"@\""), ("[::1", "IPv6"), ("[::1]8080", "IPv6"),
    ("[shop.example]:80", "IPv6"), ("::zz", "IPv6"), (":8080", "empty"), ("a\nb", "character"),
    ("shop.example?x", "\"?\""),
  ])
  func aHostThatCannotBeOneSaysWhatIsWrong(host: String, word: String) async {
    var options = FirestoreRemoteOptions(project: "shop")
    options.host = host
    let remote = FirestoreRemote(options)
    let result = await withCheckedContinuation { answer in
      remote.documents(at: [.init("a/b")], as: nil) { answer.resume(returning: $0) }
    }
    guard case .failure(let error) = result else {
      Issue.record("a remote at \(host) answers")
      return
    }
    #expect(error.code == .invalidArgument)
    #expect(error.message.contains(word), "\(error)")
  }

  @Test(arguments: [
    "firestore.googleapis.com", "localhost", "127.0.0.1:8080", "my_host-1.example.:443", "[::1]",
    "[::1]:8080", "[fe80::1%eth0]:65535", "[::ffff:127.0.0.1]:1", "münchen.example",
  ])
  func aHostOfTheRightFormIsTaken(host: String) throws { try HostName.check(host) }

  @Test func aProjectAloneIsADatabaseOfCloudFirestore() {
    #expect(FirestoreRemote(project: "shop").documentsName == "projects/shop/databases/(default)/documents")
    let other = FirestoreRemote(project: "shop", database: "eu")
    #expect(other.documentsName == "projects/shop/databases/eu/documents")
    #expect(FirestoreRemoteOptions(project: "shop").host == "firestore.googleapis.com")
  }

  @Test func streamsAtAWrongHostEndWithTheReason() async {
    var options = FirestoreRemoteOptions(project: "shop")
    options.host = "https://shop.example"
    let remote = FirestoreRemote(options)
    let (events, event) = AsyncStream<RemoteError?>.makeStream()
    let stream = remote.openWriteStream(as: nil) {
      if case .closed(let error) = $0 { event.yield(error) }
    }
    for await error in events {
      #expect(error?.code == .invalidArgument)
      break
    }
    stream.close()
  }
}
