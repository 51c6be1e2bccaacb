// In-process mutation fuzzing (docs/reliability.md, T6). An input with a new outcome is added to the corpus.
//
// The corpus starts with the seeds of the target and the inputs that are stored in a folder.

package struct FuzzCampaign {
  package struct Summary: Sendable {
    package var inputs = 0
    /// The distinct outcomes, and how many inputs had each.
    package var answers: [String: Int] = [:]
    package var finding: String?
    package var findingInput: [UInt8]?
    /// The inputs that were the first to have their outcome.
    package var kept: [[UInt8]] = []
  }

  package static var targets: [any FuzzTarget.Type] { commonTargets + transportTargets }

  private static let commonTargets: [any FuzzTarget.Type] = [
    ManifestTarget.self, FrameTarget.self, SegmentTarget.self, CheckpointTarget.self, EntryTarget.self,
    DirectoryTarget.self, RecordTarget.self, BlobTarget.self, SalvageTarget.self, DocumentsTarget.self,
    LZ4Target.self, WireTarget.self, ServiceTarget.self, HTTPTarget.self, GRPCTarget.self,
    WebChannelTarget.self, ChannelClientTarget.self,
  ]

  /// The targets that need libraries of servers.
  private static var transportTargets: [any FuzzTarget.Type] {
    #if Server
    [FramesTarget.self]
    #else
    []
    #endif
  }

  /// Runs until `isOver` returns true. `willRun` is called with each input before it runs.
  package static func run(
    _ type: any FuzzTarget.Type, seed: UInt64, corpus: [[UInt8]],
    willRun: ([UInt8]) -> Void = { _ in }, isOver: (Int) -> Bool
  ) -> Summary {
    var summary = Summary()
    var target = type.init(seed: seed)
    var mutator = ByteMutator(random: SeededRandom(seed: seed))
    var inputs = target.seeds + corpus
    var pending = inputs
    while !isOver(summary.inputs) {
      let input = pending.popLast() ?? mutated(inputs, &mutator, &target)
      summary.inputs += 1
      willRun(input)
      do throws(FuzzFinding) {
        let answer = try target.run(input)
        if summary.answers[answer] == nil {
          inputs.append(input)
          summary.kept.append(input)
        }
        summary.answers[answer, default: 0] += 1
      } catch {
        summary.finding = "\(error)"
        summary.findingInput = input
        break
      }
    }
    return summary
  }

  private static func mutated(
    _ inputs: [[UInt8]], _ mutator: inout ByteMutator, _ target: inout some FuzzTarget
  ) -> [UInt8] {
    let input = inputs[mutator.random.below(inputs.count)]
    let other = inputs[mutator.random.below(inputs.count)]
    return target.variant(of: input, other: other, &mutator.random)
      ?? mutator.mutated(input, other: other)
  }
}

extension String {
  /// Removes words with digits. An outcome therefore counts as new only if its text differs, and not if only
  /// a count or an id differs.
  var withoutNumbers: String {
    split(separator: " ").filter { !$0.contains(where: \.isNumber) }.joined(separator: " ")
  }
}
