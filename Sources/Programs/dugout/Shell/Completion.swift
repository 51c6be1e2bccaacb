// The possible completions of a line.

/// The possible completions at the cursor.
struct Completion: Equatable {
  struct Candidate: Equatable {
    /// The kinds, in the order in which they are listed.
    enum Kind: Int, CaseIterable {
      case commands, options, collections, documents, fields, keywords, topics

      var title: String { "\(self)" }
    }

    /// A complete word.
    var text: String
    var kind: Kind
    /// Text after the word that is inserted if the word is the only candidate: a blank after a complete word,
    /// or a sign after which the word continues.
    var suffix = " "
  }

  /// The number of letters before the cursor that a candidate replaces.
  var replaced: Int
  /// The candidates, in the order of their kinds.
  var candidates: [Candidate]
  /// Whether there are more candidates, which are not in the list.
  var isTruncated = false
}
