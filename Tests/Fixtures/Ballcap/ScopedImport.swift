// An import of the type itself, which code for earlier releases has in addition to the imports of both
// modules.

import Ballcap
import FirebaseFirestore

import enum Ballcap.ServerTimestamp

private struct Article: Codable, Modelable {
  var title: String = ""
  var seen: ServerTimestamp = .pending
}

private func text(_ time: ServerTimestamp) -> String {
  switch time {
  case .pending: return "pending"
  case .resolved(let time): return "\(time.seconds)"
  }
}

private func titles() -> [String] {
  let article = Document<Article>(id: "a")
  return [article[\.title], text(article[\.seen]), text(ServerTimestamp.pending)]
}
