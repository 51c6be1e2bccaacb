// The monitor of the system's network: its source, and the changes that it passes on.

import ByteStore
import Dispatch
import Foundation
import Harness
import OfflineSync
import Testing

@testable import FirestoreRemote

@Suite struct SystemNetworkMonitorTests {
  private let scheduler = VirtualScheduler()
  private let system = ScriptedSystem()
  private let monitor: SystemNetworkMonitor
  private let wired = NetworkStatus.available(NetworkPath("eth0"))
  private let wireless = NetworkStatus.available(NetworkPath("wlan0"))

  init() {
    monitor = SystemNetworkMonitor(on: scheduler) { [system] in system.open($0) }
    system.set(wired)
  }

  private func observe() -> (changes: Locked<[NetworkStatus?]>, stop: @Sendable () -> Void) {
    let changes = Locked<[NetworkStatus?]>([])
    let stop = monitor.observe { [weak monitor] in changes.withLock { $0.append(monitor?.status) } }
    scheduler.play(for: 0)
    return (changes, stop)
  }

  private func pass(milliseconds: Int64) { scheduler.play(for: milliseconds * 1000) }

  @Test func theSourceIsOpenWhileThereAreObservers() {
    #expect(monitor.status == nil && system.openCount == 0)
    let first = observe()
    #expect(system.openCount == 1 && monitor.status == wired)
    #expect(first.changes.withLock { $0 } == [wired])
    let second = observe()
    first.stop()
    first.stop()
    pass(milliseconds: 1)
    #expect(system.openCount == 1 && system.totalCount == 1)
    second.stop()
    pass(milliseconds: 1)
    #expect(system.openCount == 0 && monitor.status == nil)
    system.set(wireless)
    let third = observe()
    #expect(system.openCount == 1 && system.totalCount == 2 && monitor.status == wireless)
    third.stop()
    pass(milliseconds: 1)
    #expect(system.openCount == 0)
  }

  @Test func aFloodOfChangesThatDoNotMatterIsReadSometimesAndReportedNever() {
    let observer = observe()
    let reads = system.readCount
    for _ in 0..<1000 {
      system.note()
      pass(milliseconds: 10)
    }
    #expect(observer.changes.withLock { $0 } == [wired])
    #expect((40...51).contains(system.readCount - reads), "\(system.readCount - reads) in ten seconds")
    observer.stop()
  }

  @Test func changesWithinAShortTimeAreOneChange() {
    let observer = observe()
    for status in [.unavailable, wireless, .unavailable, wired, wireless] {
      system.set(status)
      system.note()
      pass(milliseconds: 30)
    }
    #expect(observer.changes.withLock { $0 } == [wired])
    pass(milliseconds: 200)
    #expect(observer.changes.withLock { $0 } == [wired, wireless])
    system.set(.unavailable)
    system.note()
    pass(milliseconds: 200)
    #expect(observer.changes.withLock { $0 } == [wired, wireless, .unavailable])
    observer.stop()
  }

  @Test func aStatusThatCannotBeReadChangesNothing() {
    let observer = observe()
    system.set(nil)
    system.note()
    pass(milliseconds: 300)
    #expect(monitor.status == wired && observer.changes.withLock { $0.count } == 1)
    observer.stop()
  }

  @Test func withoutASourceTheMonitorIsSilent() {
    let silent = SystemNetworkMonitor(on: scheduler) { _ in nil }
    let stop = silent.observe { Issue.record("a change") }
    pass(milliseconds: 1000)
    #expect(silent.status == nil)
    stop()
    pass(milliseconds: 1)
  }

  @Test func remotesOfThisMachineHaveNoMonitor() {
    func monitor(_ host: String) -> (any NetworkMonitor)? {
      var options = FirestoreRemoteOptions(project: "shop")
      options.host = host
      return FirestoreRemote(options).networkMonitor
    }
    for host in ["localhost", "LOCALHOST:8080", "db.localhost", "127.0.0.1:8080", "127.1.2.3", "[::1]:8080"] {
      #expect(monitor(host) == nil, "\(host)")
    }
    for host in ["shop.example", "localhost.example:80", "10.0.2.2:8080", "127.0.0.1.example", "[fd00::1]"] {
      #expect(monitor(host) as? SystemNetworkMonitor === SystemNetworkMonitor.shared, "\(host)")
    }
  }

  #if os(Linux)
  /// In a container that forbids the socket, there is nothing to test.
  @Test func theKernelListsItsInterfacesAndTheSocketsAreClosed() throws {
    guard let socket = NetlinkSocket(groups: 0) else { return }
    let links = try #require(socket.list(NetlinkMessage.Kind.link))
    #expect(links.contains { if case .link(let link) = $0 { link.isLoopback } else { false } })
    #expect(socket.list(NetlinkMessage.Kind.address) != nil)
    #expect(socket.list(NetlinkMessage.Kind.route) != nil)
    socket.end()

    let source = try #require(NetlinkSource {})
    #expect(source.status() != nil)
    let inode = try FileManager.default.destinationOfSymbolicLink(
      atPath: "/proc/self/fd/\(source.descriptor)")
    #expect(inode.hasPrefix("socket:["))
    source.close()
    #expect(source.ending.wait(timeout: .now() + 60) == .success)
    let after = try? FileManager.default.destinationOfSymbolicLink(
      atPath: "/proc/self/fd/\(source.descriptor)")
    #expect(after != inode)
  }
  #endif
}

/// A source whose status a test sets.
private final class ScriptedSystem: Sendable {
  private struct State {
    var status: NetworkStatus?
    var changed: (@Sendable () -> Void)?
    var openCount = 0
    var totalCount = 0
    var readCount = 0
  }

  private let state = Locked(State())

  var openCount: Int { state.withLock { $0.openCount } }
  var totalCount: Int { state.withLock { $0.totalCount } }
  var readCount: Int { state.withLock { $0.readCount } }

  func set(_ status: NetworkStatus?) { state.withLock { $0.status = status } }

  func note() { state.withLock { $0.changed }?() }

  func open(_ changed: @escaping @Sendable () -> Void) -> any NetworkSource {
    state.withLock { state in
      state.changed = changed
      state.openCount += 1
      state.totalCount += 1
    }
    return Source(system: self)
  }

  private struct Source: NetworkSource {
    let system: ScriptedSystem

    func status() -> NetworkStatus? {
      system.state.withLock { state in
        state.readCount += 1
        return state.status
      }
    }

    func close() { system.state.withLock { $0.openCount -= 1 } }
  }
}
