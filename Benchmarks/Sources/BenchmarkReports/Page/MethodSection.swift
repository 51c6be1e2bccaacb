// The section with the method and the settings of the engines.

enum MethodSection {
  static func text(_ results: RunResults) -> String {
    let facts = results.facts
    let engines = facts.engineLines.map { "<dt>\($0.name.escaped)</dt><dd>\($0.text.escaped)</dd>" }
    let coldOpen = facts.coldOpen.isEmpty ? "" : "In W10, \(facts.coldOpen)."
    return """
      <section><h2>Method</h2>
      <p>The documents are generated from a seed. They have eleven fields, about 380 bytes as JSON. Half of them are users, and
      half are posts below a user. The input of writes is prepared before the clock starts. A read visits every field of each
      document that it returns, or builds a dictionary or a struct of it where the row says so. A row that builds objects is
      compared with peers that build the same objects from JSON.</p>
      <p>Before the measured reads, each engine visits all documents and runs all queries once. Stores for reads are loaded
      once, and copied for rows that change them. In each round every engine runs once, in another order. A number is the
      median of the rounds, and thin lines show the extremes. "Small cache" means that the engine's own cache holds an
      eighth of the data.</p>
      <p>A dashed line is a limit of the machine, such as a write and a sync of as many bytes, the LZ4 decoding of a document,
      or a copy in memory. For rows that build objects, it is the fastest peer that only visits the fields, in C. Engines
      whose writers share syncs can be faster than the limit for a write and a sync. \(coldOpen.escaped)</p>
      <pre>\(facts.command.escaped)</pre>
      <h3>Engines and their settings</h3><dl class="settings">\(engines.joined())</dl></section>
      """
  }
}
