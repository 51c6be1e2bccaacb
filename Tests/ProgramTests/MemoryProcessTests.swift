// The memory budget that a process gets from its environment, and a process that must keep its budget.

import Foundation
import Testing

@Suite struct MemoryProcessTests {
  private let dugout = Program("dugout")
  private static let variable = "DUGOUT_MEMORY_BUDGET"

  private func stat(_ path: String, _ options: String..., budget: String) throws -> Program.Outcome {
    try dugout.run(["stat", path] + options, environment: [Self.variable: budget])
  }

  @Test func statShowsTheBudgetFromTheEnvironment() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try stat(folder.path, "--json", budget: "64MiB")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
    let memory = try #require(object?["memory"] as? [String: Any])
    #expect(memory["budgetBytes"] as? Int == 64 << 20)
    #expect(memory["budgetOrigin"] as? String == "environment")
    let sizes = ["bytes", "keyDirectoryBytes", "indexBytes"].map { memory[$0] as? Int ?? 0 }
    #expect(sizes.allSatisfy { $0 > 0 && $0 < 64 << 20 }, "\(memory)")
    #expect(memory["automaticIndexBytes"] as? Int == 0)
    let text = try stat(folder.path, budget: "64MiB").output
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("  memory ") })
    #expect(line.contains(" of a budget of 64.0 MiB; "), "\(line)")
    #expect(line.contains(" of the key directory, ") && line.contains(" of indexes, "), "\(line)")
  }

  @Test(arguments: ["lots", "15MiB", "-1"]) func anInvalidBudgetIsAnErrorOfUsage(budget: String) throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try stat(folder.path, budget: budget)
    #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
    #expect(outcome.complaint.contains("\(Self.variable) is \"\(budget)\""), "\(outcome.complaint)")
    #expect(outcome.complaint.contains("at least 16 MiB"), "\(outcome.complaint)")
    let new = folder.path + "/new"
    let set = try dugout.run(["set", new, "a/b", "{n: 1}"], environment: [Self.variable: budget])
    #expect(set.status == 2 && set.complaint.contains(Self.variable), "\(set)")
    #expect(!FileManager.default.fileExists(atPath: new))
  }

  @Test func theManualPageHasTheVariable() throws {
    #expect(try dugout.run("man").output.contains(".B DUGOUT_MEMORY_BUDGET\n"))
  }

  @Test func aProcessKeepsItsBudget() throws {
    let outcome = try Program("campaign").run("memory", "--documents", "20000", "--seed", "1")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.output.split(separator: "\n").last == "memory: 3 run, 0 failed")
  }
}
