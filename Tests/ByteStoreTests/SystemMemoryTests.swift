// The memory of the machine and of control groups, read from the files of fixture systems.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct SystemMemoryTests {
  private static let mountV2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid,relatime shared:4 - cgroup2 cgroup2 rw"
  private static let mountV1 =
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory"
  private static let otherMounts = [
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw",
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct",
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime shared:6 master:2 - cgroup cgroup rw,name=systemd",
  ]

  // MARK: Limits

  @Test func aContainerOfVersion2HasTheLimitOfItsMount() {
    var system = FixtureSystem(groups: ["0::/"], mounts: [Self.mountV2])
    system.addV2("/sys/fs/cgroup", max: 512 << 20)
    #expect(system.memory() == SystemMemory(machineBytes: 16 << 30, controlGroupBytes: 512 << 20))
    #expect(system.memory().bytes == 512 << 20)
  }

  @Test func theLimitOfThrottlingCounts() {
    var system = FixtureSystem(groups: ["0::/"], mounts: [Self.mountV2])
    system.addV2("/sys/fs/cgroup", max: 512 << 20, high: 400 << 20)
    #expect(system.memory().controlGroupBytes == 400 << 20)
    system.addV2("/sys/fs/cgroup", high: 300 << 20)
    #expect(system.memory().controlGroupBytes == 300 << 20)
  }

  /// The service has a larger limit than the slice. The root of the hierarchy has no files for memory.
  @Test func aTighterParentLimitsANestedGroup() {
    var system = FixtureSystem(groups: ["0::/system.slice/app.slice/app.service"], mounts: [Self.mountV2])
    system.add("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    system.addV2("/sys/fs/cgroup/system.slice")
    system.addV2("/sys/fs/cgroup/system.slice/app.slice", max: 2 << 30)
    system.addV2("/sys/fs/cgroup/system.slice/app.slice/app.service", max: 4 << 30)
    // Groups beside the path of the process do not count.
    system.addV2("/sys/fs/cgroup/user.slice", max: 1 << 20)
    #expect(system.memory().controlGroupBytes == 2 << 30)
    system.addV2("/sys/fs/cgroup/system.slice/app.slice/app.service", max: 1 << 30)
    #expect(system.memory().controlGroupBytes == 1 << 30)
  }

  /// The controller for memory is not enabled in the group of the process, but in its parent.
  @Test func aParentLimitsAGroupWhoseMemoryIsNotCounted() {
    var system = FixtureSystem(groups: ["0::/pod/worker"], mounts: [Self.mountV2])
    system.add("/sys/fs/cgroup/pod/worker/cgroup.controllers", "cpu\n")
    system.addV2("/sys/fs/cgroup/pod", max: 1 << 30)
    #expect(system.memory().controlGroupBytes == 1 << 30)
  }

  @Test func version1HasTheLimitOfTheControllerForMemory() {
    var system = FixtureSystem(
      groups: ["9:name=systemd:/app", "5:cpu,cpuacct:/other", "4:memory:/services/app"],
      mounts: Self.otherMounts + [Self.mountV1])
    system.addV1("/sys/fs/cgroup/memory", limit: 9_223_372_036_854_771_712)
    system.addV1("/sys/fs/cgroup/memory/services", limit: 3 << 30)
    system.addV1("/sys/fs/cgroup/memory/services/app", limit: 4 << 30)
    system.addV1("/sys/fs/cgroup/memory/app", limit: 1 << 20)
    #expect(system.memory().controlGroupBytes == 3 << 30)
  }

  @Test func controllersOfVersion1CanShareAMount() {
    var system = FixtureSystem(
      groups: ["3:cpu,memory:/app"],
      mounts: ["35 31 0:32 / /cgroup rw - cgroup cgroup rw,cpu,memory"])
    system.addV1("/cgroup/app", limit: 1 << 30)
    #expect(system.memory().controlGroupBytes == 1 << 30)
  }

  /// Without a namespace of control groups, a container sees the path of its group on the host.
  @Test func aContainerOfVersion1CanHaveThePathOfTheHost() {
    var system = FixtureSystem(
      groups: ["4:memory:/docker/3f1c/nested", "0::/"],
      mounts: Self.otherMounts
        + ["620 612 0:32 /docker/3f1c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory"])
    system.addV1("/sys/fs/cgroup/memory", limit: 256 << 20)
    system.addV1("/sys/fs/cgroup/memory/nested", limit: 128 << 20)
    #expect(system.memory().controlGroupBytes == 128 << 20)
    system.addV1("/sys/fs/cgroup/memory/nested", limit: 512 << 20)
    #expect(system.memory().controlGroupBytes == 256 << 20)
  }

  @Test(arguments: [(1 << 30, 2 << 30), (2 << 30, 1 << 30)])
  func aHybridSystemHasTheSmallerLimit(v1Limit: Int, v2Limit: Int) {
    var system = FixtureSystem(
      groups: ["4:memory:/app", "0::/app"],
      mounts: Self.otherMounts
        + [Self.mountV1, "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"])
    system.addV1("/sys/fs/cgroup/memory/app", limit: UInt64(v1Limit))
    system.addV2("/sys/fs/cgroup/unified/app", max: UInt64(v2Limit))
    #expect(system.memory().controlGroupBytes == 1 << 30)
    system.files["/sys/fs/cgroup/unified/app/memory.max"] = nil
    #expect(system.memory().controlGroupBytes == v1Limit)
  }

  // MARK: Mounts

  /// A path outside the mount must not lead to files outside the mount.
  @Test(arguments: ["/gone", "/../outside", "/app/../../outside", "", "/docker/3f1c"])
  func aPathThatDoesNotExistFallsBackToTheMount(path: String) {
    var system = FixtureSystem(groups: ["0::\(path)"], mounts: [Self.mountV2])
    system.addV2("/sys/fs/cgroup", max: 2 << 30)
    system.addV2("/sys/fs/cgroup/docker", max: 1 << 20)
    system.addV2("/sys/fs/outside", max: 1 << 20)
    system.addV2("/sys/fs/cgroup/../outside", max: 1 << 20)
    system.addV2("/sys/fs/cgroup/app/../../outside", max: 1 << 20)
    #expect(system.memory().controlGroupBytes == 2 << 30)
  }

  @Test(arguments: ["/docker/3f1c", "/docker/3f", "/other", "/docker/3f1d/below", "/../.."])
  func aMountOfAnotherGroupFallsBackToTheMount(root: String) {
    var system = FixtureSystem(
      groups: ["0::/docker/3f1d"], mounts: ["29 23 0:26 \(root) /groups rw - cgroup2 cgroup2 rw"])
    system.addV2("/groups", max: 2 << 30)
    system.addV2("/groups/docker/3f1d", max: 1 << 20)
    system.addV2("/groups/3f1d", max: 1 << 20)
    system.addV2("/groups/1d", max: 1 << 20)
    #expect(system.memory().controlGroupBytes == 2 << 30)
  }

  @Test func theMountThatShowsTheMostParentsCounts() {
    var system = FixtureSystem(
      groups: ["0::/pods/app"],
      mounts: [
        "50 23 0:26 /pods/app /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        "51 23 0:26 / /host/cgroup rw - cgroup2 cgroup2 rw",
        "52 23 0:26 /pods /pods rw - cgroup2 cgroup2 rw",
      ])
    system.addV2("/sys/fs/cgroup", max: 2 << 30)
    system.addV2("/pods", max: 1 << 30)
    system.addV2("/pods/app", max: 2 << 30)
    #expect(system.memory().controlGroupBytes == 1 << 30)
    system.addV2("/host/cgroup/pods", max: 3 << 29)
    system.addV2("/host/cgroup/pods/app", max: 2 << 30)
    #expect(system.memory().controlGroupBytes == 3 << 29)
  }

  @Test(arguments: [
    (#"/a\040\134\0113"#, "/a \\\t3"), (#"/b\12"#, #"/b\12"#), (#"/c\"#, #"/c\"#), (#"/d\089"#, #"/d\089"#),
    (#"/e\777"#, "/e\u{FFFD}"),
  ])
  func mountPointsAreUnescaped(field: String, folder: String) {
    var system = FixtureSystem(
      groups: [#"0::/my group/a\b"#],
      mounts: [#"29 23 0:26 /my\040group \#(field) rw - cgroup2 my\040groups rw"#])
    system.addV2(folder + #"/a\b"#, max: 1 << 30)
    #expect(system.memory().controlGroupBytes == 1 << 30)
  }

  // MARK: No limit

  @Test(arguments: [
    "max\n", "9223372036854771712\n", "18446744073709551615\n", "99999999999999999999\n", "17179869184\n",
    "0\n",
    "-1\n", "", "\n", "limit\n", "1e9\n", "0x400\n",
  ])
  func aLimitOfTheMachineOrMoreIsNoLimit(text: String) {
    var system = FixtureSystem(groups: ["4:memory:/", "0::/"], mounts: [Self.mountV1, Self.mountV2])
    system.add("/sys/fs/cgroup/memory/memory.limit_in_bytes", text)
    system.addV2("/sys/fs/cgroup")
    system.add("/sys/fs/cgroup/memory.max", text)
    #expect(system.memory() == SystemMemory(machineBytes: 16 << 30, controlGroupBytes: nil))
    #expect(system.memory().bytes == 16 << 30)
    #expect(text == "17179869184\n" || system.memory(machineBytes: nil).bytes == nil)
  }

  @Test func aLimitCountsOnAMachineOfUnknownSize() {
    var system = FixtureSystem(groups: ["0::/"], mounts: [Self.mountV2])
    system.addV2("/sys/fs/cgroup", max: 1 << 40)
    #expect(system.memory(machineBytes: nil).bytes == 1 << 40)
    #expect(system.memory(machineBytes: 1 << 40).controlGroupBytes == nil)
    #expect(system.memory(machineBytes: 1 << 40 + 1).controlGroupBytes == 1 << 40)
    #expect(system.memory(machineBytes: -1).controlGroupBytes == nil)
  }

  @Test func missingFilesAreNoLimit() {
    var system = FixtureSystem(groups: ["4:memory:/app", "0::/app"], mounts: [Self.mountV1, Self.mountV2])
    #expect(system.memory() == SystemMemory(machineBytes: 16 << 30, controlGroupBytes: nil))
    system.addV2("/sys/fs/cgroup", max: 1 << 30)
    #expect(system.memory().controlGroupBytes == 1 << 30)
    for path in ["/proc/self/cgroup", "/proc/self/mountinfo"] {
      var incomplete = system
      incomplete.files[path] = nil
      #expect(incomplete.memory().controlGroupBytes == nil)
    }
    #expect(SystemMemory(files: { _ in nil }, machineBytes: nil).bytes == nil)
  }

  @Test func currentMemoryIsThatOfTheMachineOrLess() throws {
    let memory = SystemMemory.current()
    let machineBytes = try #require(memory.machineBytes)
    #expect(machineBytes > 64 << 20)
    #expect(1...machineBytes ~= memory.bytes ?? 0)
    #expect(memory.bytes == memory.controlGroupBytes ?? machineBytes)
  }

  // MARK: Odd content

  @Test func malformedLinesAreSkipped() {
    var system = FixtureSystem(
      groups: ["", ":", "::", "0", "0:", "x", "1:memory", "0::/a:b", "0::/second"],
      mounts: [
        "", " ", "-", "- cgroup2", "29 23 0:26 / /a rw - cgroup2", "29 23 0:26 / /b rw cgroup2 cgroup2 rw",
        "29 23 0:26 / /c - cgroup2 cgroup2 rw", "29 23 0:26 / /d rw - cgroup cgroup rw,memory.x",
        "       - cgroup2",
        Self.mountV2,
      ])
    for folder in ["", "/a", "/b", "/c", "/d", "/sys/fs/cgroup/second"] { system.addV2(folder, max: 1 << 20) }
    system.addV2("/sys/fs/cgroup/a:b", max: 1 << 30)
    #expect(system.memory().controlGroupBytes == 1 << 30)
  }

  @Test func truncatedFilesNeverStopTheProcess() {
    let system = nested
    for (path, text) in system.files {
      for count in 0...text.utf8.count {
        var truncated = system
        truncated.files[path] = String(decoding: text.utf8.prefix(count), as: UTF8.self)
        truncated.expectPlausible()
      }
    }
  }

  @Test func damagedFilesNeverStopTheProcess() {
    let system = nested
    let paths = system.files.keys.sorted()
    var random = SeededRandom(seed: 7)
    for _ in 0..<3000 {
      var damaged = system
      for _ in 0...random.below(3) {
        let path = paths[random.below(paths.count)]
        var bytes = Array(damaged.files[path, default: ""].utf8)
        // Separators, digits and escapes reach more of the parser than random bytes do.
        let inserted =
          random.oneIn(2) ? random.bytes(random.below(4)) : [Array("\n\r :/-\\,.0379".utf8)[random.below(13)]]
        let start = random.below(bytes.count + 1)
        let end = min(bytes.count, start + random.below(4))
        bytes.replaceSubrange(start..<end, with: inserted)
        damaged.add(path, String(decoding: bytes, as: UTF8.self))
      }
      damaged.expectPlausible()
    }
  }

  @Test func randomFilesNeverStopTheProcess() {
    for seed in 0..<200 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      let files = { (_: String) -> String? in
        let bytes = random.bytes(random.below(500))
        return random.oneIn(5)
          ? nil : String(decoding: bytes.map { random.oneIn(3) ? 0x2F : $0 }, as: UTF8.self)
      }
      let memory = SystemMemory(files: files, machineBytes: 1 << 30)
      #expect(0...1 << 30 ~= memory.controlGroupBytes ?? 0)
    }
  }

  @Test func longFilesAreCutAfterALine() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(KernelFile.text(of: path) == nil)
    let line = "a line of 24 characters\n"
    let lines = KernelFile.bytesMax / line.utf8.count
    for count in [0, 1, 1000, lines, lines + 1, 10 * lines] {
      try Data(String(repeating: line, count: count).utf8).write(to: URL(fileURLWithPath: path))
      let text = try #require(KernelFile.text(of: path))
      #expect(KernelFile.lines(of: text) == Array(repeating: line.dropLast(), count: min(count, lines)))
    }
    #expect(KernelFile.text(of: FileManager.default.temporaryDirectory.path) == nil)
  }

  // MARK: The gauge

  @Test func theGaugeReadsTheMachinesMemory() {
    var system = FixtureSystem(groups: ["0::/"], mounts: [Self.mountV2])
    #expect(system.fractionAvailable() == nil)
    system.add("/proc/meminfo", "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    250 kB\n")
    #expect(system.fractionAvailable() == 0.25)
    system.add("/proc/meminfo", "MemTotal: 1000 kB\n")
    #expect(system.fractionAvailable() == nil)
    system.add("/proc/meminfo", "MemTotal: 0 kB\nMemAvailable: 0 kB\n")
    #expect(system.fractionAvailable() == nil)
  }

  @Test func theGaugeReadsNestedGroupsOfVersion2() {
    var system = nested
    #expect(system.fractionAvailable() == 0.25)
    // Inactive file pages count as available.
    system.addV2("/sys/fs/cgroup/app.slice", max: 1000, current: 950, inactive: 100)
    #expect(system.fractionAvailable() == 0.15)
    system.addV2("/sys/fs/cgroup/app.slice", max: 1000, current: 1200)
    #expect(system.fractionAvailable() == 0)
    system.addV2("/sys/fs/cgroup/app.slice", max: 1000, high: 800, current: 700)
    #expect(system.fractionAvailable() == 0.125)
    // The group with the larger limit can have less of it left.
    system.addV2("/sys/fs/cgroup/app.slice", max: 1000, current: 500)
    system.addV2("/sys/fs/cgroup/app.slice/app.service", max: 2000, current: 1900)
    #expect(system.fractionAvailable() == 0.05)
    system.addV2("/sys/fs/cgroup/app.slice/app.service")
    system.addV2("/sys/fs/cgroup/app.slice")
    #expect(system.fractionAvailable() == 0.75)
  }

  @Test func theGaugeReadsGroupsOfVersion1() {
    var system = FixtureSystem(groups: ["4:memory:/app"], mounts: [Self.mountV1])
    system.addV1("/sys/fs/cgroup/memory", limit: 9_223_372_036_854_771_712, usage: 9_223_372_036_854_771_712)
    system.addV1("/sys/fs/cgroup/memory/app", limit: 1000, usage: 900, inactive: 100)
    #expect(system.fractionAvailable() == 0.2)
    system.files["/sys/fs/cgroup/memory/app/memory.stat"] = nil
    #expect(system.fractionAvailable() == 0.1)
    system.files["/sys/fs/cgroup/memory/app/memory.usage_in_bytes"] = nil
    #expect(system.fractionAvailable() == nil)
  }

  /// The gauge sees a change of a limit without another search for the groups.
  @Test func aCheckOfTheGaugeReadsOnlyItsGroups() {
    var system = nested
    let groups = ControlGroup.all { system.files[$0] }
    #expect(
      groups.map(\.folder) == ["/sys/fs/cgroup/app.slice/app.service", "/sys/fs/cgroup/app.slice"])
    system.addV2("/sys/fs/cgroup/app.slice/app.service", max: 100, current: 90)
    var reads: [String] = []
    let fraction = SystemMemoryGauge.fractionAvailable(groups: groups, machineBytes: 16 << 30) { path in
      reads.append(path)
      return system.files[path]
    }
    #expect(fraction == 0.1)
    #expect(reads.count == 9)
    #expect(reads.count { $0.hasPrefix("/proc/") } == 1)
  }

  #if os(Linux)
  @Test func theGaugeOfTheSystemIsAFraction() throws {
    let fraction = try #require(SystemMemoryGauge().fractionAvailable())
    #expect(0...1 ~= fraction)
  }
  #endif

  /// A machine with 75 % of its memory available, and a service in a slice that has 25 % of its limit left.
  private var nested: FixtureSystem {
    var system = FixtureSystem(
      groups: ["1:name=systemd:/", "0::/app.slice/app.service"], mounts: Self.otherMounts + [Self.mountV2])
    system.add("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 750 kB\n")
    system.add("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    system.addV2("/sys/fs/cgroup/app.slice", max: 1000, current: 750)
    system.addV2("/sys/fs/cgroup/app.slice/app.service", current: 500)
    return system
  }
}

/// The files below /proc and /sys of a system, by path.
private struct FixtureSystem {
  var files: [String: String]

  init(groups: [String], mounts: [String]) {
    files = [
      "/proc/self/cgroup": groups.map { $0 + "\n" }.joined(),
      "/proc/self/mountinfo": mounts.map { $0 + "\n" }.joined(),
    ]
  }

  mutating func add(_ path: String, _ text: String) { files[path] = text }

  mutating func addV1(_ folder: String, limit: UInt64, usage: UInt64 = 0, inactive: Int = 0) {
    add(folder + "/memory.limit_in_bytes", "\(limit)\n")
    add(folder + "/memory.usage_in_bytes", "\(usage)\n")
    add(folder + "/memory.stat", "cache 7\ninactive_file 7\ntotal_inactive_file \(inactive)\n")
  }

  mutating func addV2(
    _ folder: String, max: UInt64? = nil, high: UInt64? = nil, current: UInt64 = 0, inactive: Int = 0
  ) {
    add(folder + "/cgroup.controllers", "cpu memory\n")
    add(folder + "/memory.max", max.map { "\($0)\n" } ?? "max\n")
    add(folder + "/memory.high", high.map { "\($0)\n" } ?? "max\n")
    add(folder + "/memory.current", "\(current)\n")
    add(folder + "/memory.stat", "anon 5\ninactive_file \(inactive)\n")
  }

  func memory(machineBytes: Int? = 16 << 30) -> SystemMemory {
    SystemMemory(files: { files[$0] }, machineBytes: machineBytes)
  }

  func fractionAvailable() -> Double? {
    let groups = ControlGroup.all { files[$0] }
    return SystemMemoryGauge.fractionAvailable(groups: groups, machineBytes: 16 << 30) { files[$0] }
  }

  func expectPlausible() {
    #expect(1...16 << 30 ~= memory().bytes ?? 0)
    #expect(0...1 ~= fractionAvailable() ?? 0)
  }
}
