// The report of an edit of many documents, for the user.

import DocumentStore

struct EditReport {
  let edit: QueryEdit
  var matches = QueryEdit.Matches()
  var outcome = QueryEdit.Outcome()
  /// The user has answered no.
  var isDeclined = false
  /// Nothing was changed, because an undecodable document might belong to the result of a query with a
  /// limit.
  var isRefused = false
  /// A hint if the query finds nothing.
  var hint: String?

  var text: String {
    var sentences = ["\(Wording.count(outcome.changed, "document")) \(edit.words.participle)."]
    if outcome.unchanged > 0 {
      sentences.append(
        "\(outcome.unchanged) already \(outcome.unchanged == 1 ? "has" : "have") these values.")
    }
    if outcome.gone > 0 {
      sentences.append(
        "\(Wording.count(outcome.gone, "document")) changed meanwhile, and the query no longer finds "
          + "\(outcome.gone == 1 ? "it" : "them").")
    }
    if let hint { sentences.append(hint.prefix(1).uppercased() + hint.dropFirst()) }
    return sentences.joined(separator: " ")
  }

  var object: JSON {
    [
      edit.words.participle: outcome.changed, "unchanged": outcome.unchanged,
      "changedMeanwhile": outcome.gone,
      "undecodable": matches.undecodable.names,
    ]
  }

  /// The reason for which the edit is not complete; nil if it is.
  var failure: CommandFailure? {
    if isDeclined {
      return CommandFailure(code: .checkFailed, message: "nothing was \(edit.words.participle).")
    }
    if let error = outcome.failure {
      return CommandFailure(
        code: StoreAccess.exitCode(for: error),
        message: "\(StoreAccess.ended(error.description)) \(partDone) \(advice)")
    }
    if outcome.isInterrupted {
      return CommandFailure(code: .checkFailed, message: "ended by a signal. \(partDone) \(advice)")
    }
    return undecodableFailure
  }

  private var partDone: String {
    guard outcome.changed > 0 else { return "Nothing was \(edit.words.participle)." }
    return
      "\(outcome.changed) of \(Wording.count(matches.paths.count, "document")) were \(edit.words.participle) "
      + "before that, and these changes are safe."
  }

  /// The documents are changed in the order of the query.
  private var advice: String {
    guard outcome.changed > 0 else { return "Run the same command again." }
    guard edit.query.limit != nil || !edit.isRepeatable else {
      return "Run the same command again for the others."
    }
    let last = PathText.printed(matches.paths[outcome.done - 1].segments)
    let consequence =
      edit.isRepeatable
      ? "The limit of the same command would take further documents"
      : "The same command would increment these a second time"
    return "\(consequence): the last one of these, in the order of the query, is \(last)."
  }

  private var undecodableFailure: CommandFailure? {
    let consequence =
      isRefused
      ? "The documents within the limit of the query are unknown, and nothing was \(edit.words.participle)."
      : "Whether the query matches them is unknown, and they are not changed."
    return matches.undecodable.failure(consequence)
  }
}
