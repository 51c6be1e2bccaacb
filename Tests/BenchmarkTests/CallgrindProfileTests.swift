// Profiles that callgrind has written, shortened.

import Testing

@Suite struct CallgrindProfileTests {
  @Test func instructionsAreTheTotalOfTheProfile() throws {
    #expect(try CallgrindProfile(profile).instructions == 4180)
  }

  @Test func callsAreSummedOverAllCallersWithNamesThatAreWrittenOnce() throws {
    let calls = try CallgrindProfile(profile).calls
    #expect(calls[.init(caller: "$s5Store3get", callee: "swift_retain")] == 3)
    #expect(calls[.init(caller: "$s5Store3put", callee: "swift_retain")] == 2)
    #expect(calls[.init(caller: "$s5Store3get", callee: "malloc")] == 4)
    #expect(calls[.init(caller: "$s5Store3put", callee: "pthread_mutex_lock")] == 7)
    #expect(calls.count == 6)
  }

  /// A bridged retain calls a retain, and a reallocation may call an allocation.
  @Test func aCallBetweenTwoCountedFunctionsCountsOnce() throws {
    let profile = try CallgrindProfile(profile)
    #expect(profile.calls(of: ["swift_retain"]) == 11)
    #expect(profile.calls(of: ["swift_bridgeObjectRetain"]) == 6)
    #expect(profile.calls(of: ["swift_retain", "swift_bridgeObjectRetain"]) == 11)
    #expect(profile.calls(of: ["free"]) == 0)
  }

  @Test func countsAreDividedByTheNumberOfOperations() throws {
    let counts = RowCounts(name: "W5", try CallgrindProfile(profile), operations: 2)
    #expect(
      counts == RowCounts(name: "W5", instructions: 2090, mallocs: 2, retains: 5.5, locks: 3.5))
  }

  @Test func aFunctionWithoutNumberIsReadByItsName() throws {
    let text = profile.replacing("cfn=(9) malloc", with: "cfn=malloc")
    #expect(try CallgrindProfile(text).calls(of: ["malloc"]) == 4)
  }

  @Test func theTriggerIsTheOptionAndItsFunction() throws {
    #expect(try CallgrindProfile(profile).trigger == "--dump-after=$s12instructions11countedPartyyF")
    let last = profile.replacing("--dump-after=$s12instructions11countedPartyyF", with: "Program termination")
    #expect(try CallgrindProfile(last).trigger == "")
  }

  /// A process that was killed leaves such a file.
  @Test func aProfileWithoutItsTotalIsRefused() {
    let text = profile.replacing("totals: 4180", with: "")
    #expect(throws: InstructionError.incompleteProfile) { try CallgrindProfile(text) }
    #expect(throws: InstructionError.incompleteProfile) { try CallgrindProfile("") }
  }

  @Test func aProfileOfOtherEventsIsRefused() {
    let text = profile.replacing("events: Ir", with: "events: Dr")
    #expect(throws: InstructionError.incompleteProfile) { try CallgrindProfile(text) }
  }

  @Test(arguments: [
    ("calls=4 12", "calls=many 12", "calls=many 12"), ("cfn=(9) malloc", "cfn=(9)", "(9)"),
  ])
  func anUnknownLineIsReported(old: String, new: String, reported: String) {
    #expect(throws: InstructionError.unreadable(reported)) {
      try CallgrindProfile(profile.replacing(old, with: new))
    }
  }
}

private let profile = """
  # callgrind format
  version: 1
  creator: callgrind-3.19.0
  cmd:  instructions reads /tmp/stores
  part: 2

  desc: Trigger: --dump-after=$s12instructions11countedPartyyF

  positions: line
  events: Ir
  summary: 4180

  ob=(4) /usr/bin/instructions
  fl=(1) Store.swift
  fn=(1) $s5Store3get
  16 1000
  +4 80
  cfi=(2) ???
  cfn=(5) swift_retain
  calls=3 0
  * 300
  cob=(3) /usr/lib/libc.so.6
  cfi=(3) malloc.c
  cfn=(9) malloc
  calls=4 12
  * 600
  cfn=(7) swift_bridgeObjectRetain
  calls=6 0
  * 900

  fn=(2) $s5Store3put
  30 2500
  cfn=(5)
  calls=1 0
  * 100
  cfn=(13) swift_retain'2
  calls=1 0
  * 100
  cfn=(11) pthread_mutex_lock@@GLIBC_2.2.5
  calls=7 0
  * 70

  fn=(7)
  0 600
  cfn=(5)
  calls=6 0
  * 600

  totals: 4180

  """
